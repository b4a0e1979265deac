"""Shows the examples of docstrings (`>>> …`) as code in the API reference; used by mkdocs.yml."""

from typing import Any

import griffe


def fenced(text: str) -> str:
    """Every paragraph that starts with a prompt, between fences of Markdown."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines).rstrip()


class ExamplesAsCode(griffe.Extension):
    """Without fences Markdown reads prompts as quotations, and lists in results as links."""

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Rewrite the docstring of every object that has one."""
        if obj.docstring and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
