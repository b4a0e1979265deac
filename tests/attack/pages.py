"""Whether a report holds only what its own code writes: parsed, tag by tag, as a browser does."""

import re
from html.parser import HTMLParser

_TAGS = (
    "html head meta link title style body header main footer section h1 h2 h3 p div dl dt dd span",
    "strong em b i code small table caption thead tbody tfoot tr th td figure figcaption svg g",
    "path line rect circle text tspan defs clippath ul ol li a br details summary desc nav pre",
)
TAGS = frozenset(" ".join(_TAGS).split())
POLICY = ("default-src 'none'", "base-uri 'none'", "form-action 'none'")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.policies: list[str] = []
        self.first_tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag in ("meta", "link", "br"):
            self.open.pop()
        self._look(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"a stray </{tag}>")

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"a comment {data[:50]!r}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"an instruction {data[:50]!r}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"a declaration {data[:50]!r}")

    def _look(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.first_tags.append(tag)
        if tag not in TAGS:
            self.faults.append(f"a tag <{tag}>")
        values = dict(attrs)
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(values.get("content") or "")
        for name, value in attrs:
            links = name in ("href", "src", "action", "formaction", "xlink:href", "srcset")
            allowed = value in ("data:,",) or re.fullmatch(r"#[\w-]+", value or "")
            if name.startswith("on") or name == "srcdoc" or (links and not allowed):
                self.faults.append(f"an attribute {name}={value!r:.60}")


def fault_in_page(page: str) -> str:
    """What is wrong with a report; nothing if all that came from a table is plain text."""
    reader = _Page()
    reader.feed(page)
    reader.close()
    if reader.open:
        reader.faults.append(f"<{reader.open[-1]}> never ends")
    if len(reader.policies) != 1 or not all(part in reader.policies[0] for part in POLICY):
        reader.faults.append(f"a policy {reader.policies}")
    before = reader.first_tags[: reader.first_tags.index("title")] if reader.first_tags else []
    if not set(before) <= {"html", "head", "meta", "link"}:
        reader.faults.append("something before the policy")
    return "; ".join(reader.faults[:3])
