# SPDX-License-Identifier: Apache-2.0
"""Faults that are planted between a scenario and the relay. The checks of the scenario must find them."""

import json
import random
from typing import Any, ClassVar

from frames import Frame

from stress.session import Session

#: The part of the frames that a fault changes.
SOME = 0.2


class Fault:
    """Changes the frames of all sessions of a scenario. A subclass is one fault."""

    #: The scenario that must find the fault.
    scenario: ClassVar[str]
    #: A pattern of the failure that the scenario must report.
    finds: ClassVar[str]

    def __init__(self, seed: int):
        self.random = random.Random(f"{type(self).__name__} {seed}")
        #: The requests without a reply, by session and id.
        self._asked: dict[tuple[int, Any], dict[str, Any]] = {}
        #: The replies that the fault gives instead of the relay.
        self._invented: dict[tuple[int, Any], dict[str, Any]] = {}

    def sent(self, session: Session, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the requests that the relay receives instead."""
        return [request]

    def received(self, session: Session, frame: dict[str, Any], request: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the frames that the client receives instead. `request` is the one to which the frame replies."""
        return [frame]

    def replies(self, session: Session, request: dict[str, Any], **reply: Any) -> list[dict[str, Any]]:
        """Hides a request from the relay, and gives this reply to the client."""
        self._invented[id(session), request["id"]] = {"type": "ok", "id": request["id"]} | reply
        return [{"type": "ping", "id": request["id"]}]

    def is_chosen(self) -> bool:
        return self.random.random() < SOME

    def plant(self, session: Session) -> None:
        """Changes all later frames of a session."""
        send, came = session.connection.send_text, session.connection.on_text

        def send_changed(text: str) -> None:
            request = json.loads(text)
            if "id" in request:
                self._asked[id(session), request["id"]] = request
            requests = self.sent(session, request)
            for one in requests:
                send(text if one == request else json.dumps(one))

        def came_changed(text: str) -> None:
            frame = Frame(text)
            key = id(session), frame.get("id")
            request = self._asked.pop(key, {})
            if key in self._invented:
                frame = self._invented.pop(key)
            for one in self.received(session, dict(frame), request):
                came(text if one == frame and isinstance(frame, Frame) else json.dumps(one))

        session.connection.send_text = send_changed
        session.connection.on_text = came_changed


FAULTS: dict[str, type[Fault]] = {}


def planted(fault: type[Fault]) -> type[Fault]:
    """Registers a fault that a scenario must find."""
    assert fault.__doc__, f"{fault.__name__} has no description"
    FAULTS[fault.__name__] = fault
    return fault


# Reports of devices whose clocks step


class ReportFault(Fault):
    """A fault of the replies to reports. It knows the number that the relay has stored for each device."""

    scenario = "no_step_of_a_clock_blocks_a_report"

    def __init__(self, seed: int):
        super().__init__(seed)
        self.stored: dict[tuple[str, str], int] = {}
        self._devices: dict[int, str] = {}

    def place(self, session: Session, request: dict[str, Any]) -> tuple[str, str]:
        """The device and the kind of a report."""
        return f"{session.user} {self._devices.get(id(session))}", request["type"]

    def sent(self, session: Session, request: dict[str, Any]) -> list[dict[str, Any]]:
        if request["type"] == "hello":
            self._devices[id(session)] = request.get("device", "")
        return self.reported(session, request) if is_report(request) else [request]

    def received(self, session: Session, frame: dict[str, Any], request: dict[str, Any]) -> list[dict[str, Any]]:
        if "applied" not in frame or not is_report(request):
            return [frame]
        if frame["applied"]:
            self.stored[self.place(session, request)] = request["number"]
        return [self.answered(frame, self.place(session, request))]

    def reported(self, session: Session, request: dict[str, Any]) -> list[dict[str, Any]]:
        return [request]

    def answered(self, reply: dict[str, Any], place: tuple[str, str]) -> dict[str, Any]:
        return reply


def is_report(request: dict[str, Any]) -> bool:
    return request.get("type") in ("focus", "filter")


@planted
class LosesReports(ReportFault):
    """Confirms reports that the relay does not get. A repeated one is confirmed again."""

    scenario = "the_newest_report_counts_while_clocks_step"
    finds = "reported the|was applied, and .* is newer"

    def reported(self, session, request):
        return self.replies(session, request, applied=True) if self.is_chosen() else [request]


@planted
class LetsOldReportsWin(ReportFault):
    """Sends the former report of a device again, last."""

    scenario = "the_newest_report_counts_while_clocks_step"
    finds = "reported the"

    def __init__(self, seed: int):
        super().__init__(seed)
        self._former: dict[tuple[str, str], dict[str, Any]] = {}

    def reported(self, session, request):
        former = self._former.get(self.place(session, request))
        self._former[self.place(session, request)] = request
        if former is None or not self.is_chosen():
            return [request]
        again = {name: value for name, value in former.items() if name != "id"}
        return [request, again | {"number": request["number"] + 1}]


@planted
class HidesTheStoredNumber(ReportFault):
    """Refuses a report without the stored number."""

    finds = "the reply has no number"

    def answered(self, reply, place):
        return {name: value for name, value in reply.items() if name != "number"}


@planted
class ShowsAnotherNumber(ReportFault):
    """Refuses a report with another number than the stored one."""

    finds = "which the device has not sent"

    def answered(self, reply, place):
        return reply if reply["applied"] else reply | {"number": reply["number"] - 1}


@planted
class KeepsNumbersAhead(ReportFault):
    """Refuses all reports below a number of a clock that was ahead."""

    finds = "was not applied, and .* is ahead"

    def reported(self, session, request):
        stored = self.stored.get(self.place(session, request), 0)
        if request["number"] < stored:
            return self.replies(session, request, applied=False, number=stored)
        return [request]


@planted
class RefusesRepeatedReports(ReportFault):
    """Refuses a report again that the device has repeated above the stored number."""

    finds = "is stuck"

    def reported(self, session, request):
        stored = self.stored.get(self.place(session, request), 0)
        if request["number"] == stored + 1:
            return self.replies(session, request, applied=False, number=stored)
        return [request]


@planted
class AppliesOldReports(ReportFault):
    """Confirms reports that the relay has refused."""

    finds = "was applied, and .* is newer"

    def answered(self, reply, place):
        return {"type": "ok", "id": reply["id"], "applied": True}


# Pages of a reply to join


class PageFault(Fault):
    """A fault of the frames with pages. It changes one frame of each session."""

    scenario = "slow_lines_catch_up_in_pages"
    finds = "has .* and gets"

    def __init__(self, seed: int):
        super().__init__(seed)
        self._changed: set[int] = set()

    def received(self, session: Session, frame: dict[str, Any], request: dict[str, Any]) -> list[dict[str, Any]]:
        is_page = frame["type"] == "page" or "more" in frame
        if not is_page or len(frame["messages"]) < 3 or id(session) in self._changed:
            return [frame]
        self._changed.add(id(session))
        return self.paged(session, frame)

    def paged(self, session: Session, page: dict[str, Any]) -> list[dict[str, Any]]:
        return [page]


@planted
class LosesAMessageOfAPage(PageFault):
    """Loses one message of a page."""

    def paged(self, session, page):
        lost = self.random.randrange(1, len(page["messages"]) - 1)
        return [page | {"messages": page["messages"][:lost] + page["messages"][lost + 1 :]}]


@planted
class RepeatsAMessageOfAPage(PageFault):
    """Repeats one message of a page."""

    def paged(self, session, page):
        twice = self.random.randrange(len(page["messages"]))
        return [page | {"messages": page["messages"][: twice + 1] + page["messages"][twice:]}]


@planted
class LosesTheEndOfAPage(PageFault):
    """Loses the last message of a page, and lowers the seq of the page."""

    # The next join continues there, so nothing is lost if the page is the last one of a reply.
    def received(self, session, frame, request):
        return super().received(session, frame, request) if frame["type"] == "page" else [frame]

    def paged(self, session, page):
        return [page | {"messages": page["messages"][:-1], "seq": page["seq"] - 1}]


@planted
class ShowsAnotherSeqOfAPage(PageFault):
    """Shows a page with the seq of a message that it does not have."""

    finds = "the seq of a page is|has .* of"

    def paged(self, session, page):
        return [page | {"seq": page["seq"] + 1}]


@planted
class SendsLargeFrames(Fault):
    """Sends the pages of a reply in one frame."""

    scenario = "slow_lines_that_are_cut_continue_behind_the_last_page"
    finds = r"a frame has \d+ bytes"

    def __init__(self, seed: int):
        super().__init__(seed)
        self._kept: dict[int, list[Any]] = {}

    def received(self, session, frame, request):
        if frame["type"] == "page":
            self._kept.setdefault(id(session), []).extend(frame["messages"])
            return []
        if request.get("type") == "join" and "messages" in frame:
            return [frame | {"messages": self._kept.pop(id(session), []) + frame["messages"]}]
        return [frame]


@planted
class ContinuesTooEarly(Fault):
    """Continues one message before the position of a client that comes back."""

    scenario = "slow_lines_that_are_cut_continue_behind_the_last_page"
    finds = "recovered .* messages of|has .* and gets"

    def sent(self, session, request):
        after = request.get("after")
        if not after or not after["seq"]:
            return [request]
        return [request | {"after": after | {"seq": after["seq"] - 1}}]


@planted
class EndsSlowSessions(PageFault):
    """Ends the session of a client that reads slowly, as if it were dead."""

    finds = "has ended with"

    def paged(self, session, page):
        session.connection.cut()
        return [page, {"type": "bye", "code": 4004, "reason": "no pong in time", "reconnect": True}]


@planted
class DelaysPongs(Fault):
    """Sends a pong after the pages of a reply that waits."""

    scenario = "only_the_last_of_repeated_joins_has_the_messages"
    finds = "a pong waits for pages"

    def __init__(self, seed: int):
        super().__init__(seed)
        self._kept: list[dict[str, Any]] = []

    def received(self, session, frame, request):
        if frame["type"] == "pong":
            self._kept.append(frame)
            return []
        if frame["type"] == "page":
            kept, self._kept = self._kept, []
            return [frame, *kept]
        return [frame]


@planted
class AnswersSupersededJoins(Fault):
    """Answers a superseded join as if it had joined."""

    scenario = "only_the_last_of_repeated_joins_has_the_messages"
    finds = "a join that waits got ok"

    def received(self, session, frame, request):
        if frame.get("code") != "superseded":
            return [frame]
        empty = {"epoch": "", "seq": 0, "change": 0, "read": 0, "messages": [], "memberCount": 1}
        return [{"type": "ok", "id": frame["id"], "room": request["room"]} | empty]


# Repeated requests


class RepeatFault(Fault):
    """A fault of requests that are repeated before their replies."""

    scenario = "requests_repeated_before_their_replies_count_once"


@planted
class StoresRepeatedSends(RepeatFault):
    """Stores a repeated message again, because its key is lost."""

    finds = "a reply names"

    def __init__(self, seed: int):
        super().__init__(seed)
        self._keys: set[str] = set()

    def sent(self, session, request):
        key = request.get("key")
        if key is None or key not in self._keys:
            self._keys.add(key)
            return [request]
        return [{name: value for name, value in request.items() if name != "key"}]


@planted
class AnswersWithAnotherSeq(RepeatFault):
    """Answers a repeated send with another seq."""

    finds = "a reply names"

    def received(self, session, frame, request):
        return [frame | {"seq": frame["seq"] + 1} if "duplicate" in frame else frame]


@planted
class HidesDuplicates(RepeatFault):
    """Answers a repeated send as if it were new."""

    finds = "was taken for new twice"

    def received(self, session, frame, request):
        return [{name: value for name, value in frame.items() if name != "duplicate"}]


@planted
class RepliesTwice(RepeatFault):
    """Sends a reply twice."""

    finds = "a reply without a request"

    def received(self, session, frame, request):
        return [frame, frame] if request.get("type") == "read" else [frame]


@planted
class LosesMessages(RepeatFault):
    """Confirms messages that the relay does not get, with the seq of the message before."""

    scenario = "requests_repeated_on_the_next_connection_count_once"
    finds = "should be"

    def __init__(self, seed: int):
        super().__init__(seed)
        self._newest: dict[str, int] = {}
        self._lost: dict[str, int] = {}

    def sent(self, session, request):
        key, newest = request.get("key"), self._newest.get(session.user)
        if key is None or newest is None or not (key in self._lost or key.endswith("7")):
            return [request]
        # All sends of the message get the same reply.
        seq = self._lost.setdefault(key, newest)
        return self.replies(session, request, seq=seq, time=0, duplicate=True)

    def received(self, session, frame, request):
        if request.get("type") == "send" and "seq" in frame:
            self._newest[session.user] = frame["seq"]
        return [frame]


@planted
class LosesEdits(RepeatFault):
    """Confirms edits that the relay does not get."""

    finds = "should be 'edit"

    def sent(self, session, request):
        return self.replies(session, request, change=0) if request["type"] == "edit" else [request]


@planted
class MovesMarksBack(RepeatFault):
    """Shows a client that comes back an older read mark."""

    scenario = "requests_repeated_on_the_next_connection_count_once"
    finds = "the mark goes back"

    def received(self, session, frame, request):
        return [frame | {"read": frame["read"] // 2} if frame.get("read") else frame]


@planted
class RepeatsOldMarks(RepeatFault):
    """Shows an older read mark after a newer one."""

    finds = "the marks go back"

    def received(self, session, frame, request):
        if frame["type"] != "receipt" or frame["seq"] < 2:
            return [frame]
        return [frame, frame | {"seq": frame["seq"] - 1}]
