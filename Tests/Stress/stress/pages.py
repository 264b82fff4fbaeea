# SPDX-License-Identifier: Apache-2.0
"""The rules of the pages of a reply to `join`."""

from collections.abc import Iterator

from frames import Frame

#: The maximum size of the messages in one frame, in bytes, unless the frame has only one message.
MAX_FRAME = 16_384
#: The values of `maxBytes`.
MIN_PAGES, MAX_PAGES = 16_384, 262_144


def page_faults(pages: list[Frame], max_bytes: int | None) -> Iterator[str]:
    """Yields what is wrong with a reply to `join`, the last one of `pages`, and with the events `page` before it."""
    reply = pages[-1]
    if max_bytes is None:
        if len(pages) > 1 or "more" in reply:
            yield f"{len(pages) - 1} pages before a reply without maxBytes"
        return
    sizes = [[len(message.text.encode()) for message in page.messages] for page in pages]
    for frame in sizes:
        if len(frame) > 1 and sum(frame) > MAX_FRAME:
            yield f"a frame has {sum(frame)} bytes of {len(frame)} messages"
    total = [size for frame in sizes for size in frame]
    if len(total) > 1 and sum(total) > max_bytes:
        yield f"a reply has {sum(total)} bytes of messages, and maxBytes is {max_bytes}"
    for page in pages[:-1]:
        yield from _faults_of_event(page, reply)
    if "more" in reply:
        if present := [name for name in ("members", "marks", "onlineCount") if name in reply]:
            yield f"a reply with more has {present}"
        if not reply.messages:
            yield "a reply with more has no messages"


def _faults_of_event(page: Frame, reply: Frame) -> Iterator[str]:
    messages = page.messages
    if not messages or page["seq"] != messages[-1]["seq"]:
        yield f"the seq of a page is {page['seq']}, and its messages end at {messages[-1:]}"
    for name in ("epoch", "recovered"):
        if page.get(name) != reply.get(name):
            yield f"{name} of a page is {page.get(name)}, and that of its reply {reply.get(name)}"
