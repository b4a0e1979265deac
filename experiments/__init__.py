"""The papers' experiments as data: small records of what to run, and a runner that resumes."""
