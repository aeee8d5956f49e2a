"""The template tag of tips: `{% tip "evaluation" %}` beside a word that a newcomer does not know."""

from collections import Counter
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.pages.help.words import word

register = template.Library()


@register.simple_tag(takes_context=True)
def tip(context: template.RequestContext, name: str) -> SafeString:
    """A button that opens the explanation: by mouse, key or touch, without scripts."""
    request: Any = context["request"]
    if not hasattr(request, "tips"):
        request.tips = Counter()
    request.tips[name] += 1
    found, key = word(name), f"tip-{name}-{request.tips[name]}"
    return format_html(
        '<span class="word-tip"><button type="button" popovertarget="{}" aria-label="What is “{}”?">?</button>'
        '<span class="word-text" id="{}" popover>{}</span></span>',
        key,
        found.label,
        key,
        found.text,
    )
