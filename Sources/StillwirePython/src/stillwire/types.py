# SPDX-License-Identifier: Apache-2.0
# generate.py has generated this file from the OpenAPI document.
"""The objects of requests and answers as JSON has them. The HTTP reference has the same keys."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final

RoomKind: TypeAlias = Literal["group", "direct"]
"""`direct`: the one room of two people."""

RoomJoin: TypeAlias = Literal["open", "invited"]
"""`open`: users join by their rights. `invited`: only a moderator or a backend adds users."""

CallMedia: TypeAlias = Literal["audio", "video"]

CallState: TypeAlias = Literal["ringing", "answered", "declined", "missed", "cancelled", "ended"]
"""`declined`: all members have declined. `missed`: nobody answered in time. `cancelled`: the caller hung up
before anybody answered. `ended`: the call was answered and is over.
"""

RoomRole: TypeAlias = Literal["member", "moderator", "owner"]

Activity: TypeAlias = Literal["active", "idle", "background"]
"""The attention of a person to the session. `background` counts as away."""

ReportState: TypeAlias = Literal["open", "resolved", "dismissed"]
"""`resolved`: a moderator or a backend has acted. `dismissed`: there was nothing to act on."""

SilenceMode: TypeAlias = Literal["deliver", "passive", "hold"]

Audience: TypeAlias = Literal["none", "rooms", "watchers"]

ReasonCode: TypeAlias = Literal[
    "own_message", "no_push_asked", "large_room", "blocked", "invited_too_often", "read", "received",
    "deleted", "expired", "not_a_member", "suspended", "muted", "over_pace", "not_received_yet",
    "received_idle", "within_grace", "no_device", "not_allowed", "unread", "focused", "filtered",
    "quiet_hours", "nothing_against", "level_lowered", "no_voip_entitlement",
]

Level: TypeAlias = Literal["passive", "active", "timeSensitive", "critical"]

LintRule: TypeAlias = Literal[
    "text-empty", "text-too-long", "byte-order-mark", "invalid-utf8", "nul-byte", "typographic-quote",
    "single-quote", "unquoted-key", "unquoted-text", "literal-spelling", "missing-comma", "trailing-comma",
    "extra-comma", "missing-colon", "missing-key", "missing-value", "comment", "invisible-space",
    "unexpected-character", "number-not-finite", "number-leading-zero", "number-plus-sign", "number-form",
    "number-too-large", "unterminated-string", "unescaped-quote", "control-character", "bad-escape",
    "lone-surrogate", "duplicate-key", "nesting-too-deep", "unclosed-bracket", "wrong-bracket",
    "bytes-after-end", "not-an-object", "vendor-wrapper", "aps-missing", "aps-spelling", "aps-elsewhere",
    "aps-key-outside", "aps-key-perhaps-outside", "aps-key-in-alert", "alert-key-in-aps", "alert-key-outside",
    "sound-key-in-aps", "misspelled-key", "unknown-aps-key", "unknown-alert-key", "unknown-sound-key",
    "flag-not-number", "flag-value", "number-as-text", "text-as-number", "null-value", "wrong-type",
    "badge-range", "relevance-range", "volume-range", "summary-count-range", "level-spelling",
    "level-unknown", "event-unknown", "date-milliseconds", "background-shows", "mutable-without-text",
    "empty-alert", "shows-nothing", "args-without-key", "text-and-key", "critical-sound-level",
    "critical-level-sound", "passive-sound", "no-sound", "summary-deprecated", "action-deprecated",
    "activity-without-timestamp", "activity-without-event", "activity-without-state",
    "activity-start-incomplete", "activity-start-only", "activity-end-only", "voip-shows", "voip-expiration",
    "communication-not-mutable", "communication-kind", "communication-id", "communication-empty",
    "communication-avatar", "communication-group-count", "device-token", "secret", "header-unknown",
    "push-type-unknown", "push-type-missing", "push-type-mismatch", "priority-value", "priority-background",
    "topic-missing", "topic-suffix", "collapse-id-length", "push-id-form", "expiration-value",
    "expiration-milliseconds", "expiration-no-date", "expiration-once", "payload-too-large",
    "too-many-findings",
]

PushState: TypeAlias = Literal[
    "waiting", "held", "merged", "ready", "sending", "retrying", "sent", "cancelled", "expired", "dead",
]
"""`waiting`: the sender exceeds the pace, and the push waits for the end of the minute. `held`: the recipient is
silenced. `merged`: the push in `mergedInto` contains the message. `retrying`: the gateway could not accept
the push.
"""

ErrorCode: TypeAlias = Literal[
    "bad_request", "unauthorized", "forbidden", "restricted", "not_joined", "not_found", "unsupported",
    "conflict", "too_large", "superseded", "rate_limited", "unavailable", "internal",
]


@final
class ListAllRoomsResult(TypedDict):
    rooms: list[ListedRoom]
    more: bool
    """True if a later page has more."""


@final
class ListedRoom(TypedDict):
    room: str
    kind: RoomKind
    title: NotRequired[str]
    seq: int
    """The newest message. 0: there is none yet."""
    members: int
    """The number of members."""
    sessions: int
    """The number of sessions that have joined it."""
    stored: bool
    """True if the room stores messages and members."""


@final
class CreatedRoom(TypedDict):
    room: str
    kind: RoomKind
    join: RoomJoin
    title: NotRequired[str]
    avatar: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    readOnly: NotRequired[Literal[True]]
    version: int
    created: NotRequired[int]
    """The time of the creation."""
    duplicate: NotRequired[Literal[True]]
    """The same key created this room before. Nothing has changed."""


@final
class Room(TypedDict):
    room: str
    kind: RoomKind
    join: RoomJoin
    title: NotRequired[str]
    avatar: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    readOnly: NotRequired[Literal[True]]
    version: int
    invited: NotRequired[list[InvitedUser]]
    restrictedUntil: NotRequired[int]
    created: NotRequired[int]
    """The time of the creation."""


@final
class InvitedUser(TypedDict):
    user: str
    by: str
    """The user who has invited."""
    time: int


@final
class History(TypedDict):
    epoch: str
    """The id of the history. Another epoch means another history."""
    first: int
    """The oldest stored message."""
    messages: list[Message | DeletedMessage]
    """Oldest first."""
    more: bool
    """True if more messages exist: older ones, or with `after` newer ones."""


_MessageFrom = TypedDict("_MessageFrom", {"from": str})


@final
class Message(_MessageFrom):
    seq: int
    time: int
    editedAt: NotRequired[int]
    """The time of the last edit. Absent if there was none."""
    body: Any
    """Byte for byte as the sender sent it."""
    reactions: NotRequired[list[Reaction]]
    """Absent if there are none."""
    pinnedAt: NotRequired[int]
    mentions: NotRequired[list[str | Literal["*", "*online"]]]
    replyTo: NotRequired[int]
    quote: NotRequired[Quote]


@final
class Reaction(TypedDict):
    key: str
    count: int
    """The number of users."""
    users: list[str]
    """The first users."""


_QuoteFrom = TypedDict("_QuoteFrom", {"from": str})


@final
class Quote(_QuoteFrom):
    """The message that a reply answers, in its newest state. Absent if the message is no reply, if the history
    no longer has the answered message, and without the right `history`. An event also has it without this
    right if the answered message was sent to the session since it joined.
    """

    seq: int
    preview: NotRequired[str]
    """The beginning of the text, at most 160 characters and 1,024 bytes. Absent without a text, after a
    deletion, and in rooms without previews.
    """
    deleted: NotRequired[Literal[True]]
    """The answered message was deleted."""


@final
class DeletedMessage(TypedDict):
    """Takes the place of a message that was deleted."""

    seq: int
    deleted: Literal[True]
    by: NotRequired[str]
    """The user who deleted the message of another user. Absent for other deletions."""


@final
class PushRequest(TypedDict):
    """The options of a message's pushes. The relay refuses a field with another name."""

    kind: NotRequired[Literal["message", "call", None]]
    """`call` rings immediately on every device. It needs the right `urgent`. The default is `message`."""
    level: NotRequired[Literal["passive", "active", "timeSensitive", "critical", None]]
    """The interruption level. The default is `active`. The relay lowers a higher level if the sender lacks the
    right `urgent`, or if the device or its app does not allow the level. It lowers `critical` if the sender
    sends more critical alerts to the recipient than `pace.critical` in a minute.
    """
    criteria: NotRequired[str | None]
    """The label that Focus filters of recipients match. A recipient's own label of the room takes precedence. At
    most 128 bytes.
    """
    expires: NotRequired[float | None]
    """The number of seconds after which the push expires. The default is 28 days, and 45 s for a call."""
    title: NotRequired[str | None]
    """The default is the sender's name. One line of at most 1,024 bytes, and not blank. This field and all
    following ones need the right `push`.
    """
    titleKey: NotRequired[str | None]
    """Replaces `title`: a key of the app's own translations. One line of at most 256 bytes."""
    titleArgs: NotRequired[list[str] | None]
    subtitle: NotRequired[str | None]
    """The default is the room's title, if it has one. One line of at most 1,024 bytes, and not blank."""
    subtitleKey: NotRequired[str | None]
    subtitleArgs: NotRequired[list[str] | None]
    body: NotRequired[str | None]
    """The default is the message's body if that is a string, or its member `text`. At most 4,096 bytes, and not
    blank. The relay shortens a text that does not fit into a payload.
    """
    bodyKey: NotRequired[str | None]
    bodyArgs: NotRequired[list[str] | None]
    relevance: NotRequired[float | None]
    """The position in a summary of notifications."""
    sound: NotRequired[str | PushRequestSound | None]
    """The name of a sound file in the app. The default is `default`, and for a call the `ringtone` of the app's
    configuration. None: the push has no sound. A push at the level `passive` has no sound. A push at the
    level `critical` has a critical sound.
    """
    badge: NotRequired[Literal["auto"] | int | None]
    """`auto` is the number of unread messages. It leaves out muted rooms, and rooms that the device's active
    Focus filter refuses. None leaves the badge as it is. The default is `auto`, and None for a notification
    without a message.
    """
    category: NotRequired[str | None]
    """The category in the registry. It defines the actions of the notification."""
    thread: NotRequired[str | None]
    """The group of notifications on the lock screen. The default is the room. None: the app's own group."""
    target: NotRequired[str | None]
    """A content id, which selects a window of the app."""
    image: NotRequired[str | None]
    """An https URL that the app's extension loads."""
    data: NotRequired[dict[str, Any] | None]
    """Custom keys of the payload, beside `aps`. Keys to which Apple or the relay gives a meaning are refused. At
    most 3,072 bytes and 16 levels.
    """
    collapse: NotRequired[Literal["message", "room", None]]
    """`room`: a device shows only the newest of the room's messages with this value."""
    silent: NotRequired[bool | None]
    """True: the push wakes the app and shows nothing. A device gets at most one in 20 minutes, which is the
    newest. Only `data`, `criteria` and `expires` may accompany it.
    """
    communication: NotRequired[bool | None]
    """True: the app's extension makes a communication notification of the push, which shows the sender and the
    conversation in place of `title` and `subtitle`. False: a plain notification, which keeps them. The
    default is True. The default is False for a notification without a message if it has a `title`, and if its
    `from` was never connected, has no device and is in no room. A call cannot be plain.
    """


@final
class PushRequestSound(TypedDict):
    name: str
    volume: NotRequired[float | None]
    critical: NotRequired[bool | None]
    """True requires the level `critical`."""


@final
class Sent(TypedDict):
    room: str
    seq: int
    time: int
    delivery: NotRequired[Delivery]
    quote: NotRequired[Quote]
    duplicate: NotRequired[Literal[True]]
    """True: the relay received the same key before. The reply has the `seq` and the `time` of that message.
    Nothing was sent.
    """


@final
class Delivery(TypedDict):
    """The recipients of the message, as far as the sender may know them. Only in rooms that push. Each member
    except the sender counts once. A member who has muted the room, holds pushes, blocks the sender or has no
    device counts like any other member.
    """

    live: int
    """Members with an active or idle session in the room."""
    push: int
    """All other members, and every member who does not let the sender see whether they are online."""
    waiting: int
    """Members who are away for less than the grace, without a clean close."""
    quiet: list[str]
    """Members who let the sender see that their notifications are silenced, or that their Focus filter refuses
    their own label of the room or of the account. Empty in large rooms.
    """


@final
class Edited(TypedDict):
    room: str
    seq: int
    change: int


@final
class Reacted(TypedDict):
    room: str
    seq: int
    change: NotRequired[int]
    """Absent if nothing has changed."""
    reactions: NotRequired[list[Reaction]]
    """Absent without the right `history`."""


@final
class Notified(TypedDict):
    push: int
    """The number of recipients who are notified for the first time. It includes those who need no push any more."""


@final
class PinList(TypedDict):
    room: str
    pins: list[Pin]


_PinFrom = TypedDict("_PinFrom", {"from": str})


@final
class Pin(_PinFrom):
    seq: int
    time: int
    """The time of the message."""
    pinnedAt: int
    """The time of the pin."""
    preview: NotRequired[str]
    """The beginning of the text, at most 160 characters and 1,024 bytes. Absent without a text."""


@final
class Pinned(TypedDict):
    room: str
    seq: int
    change: NotRequired[int]
    """Absent if nothing has changed."""
    pinned: bool


@final
class CallPage(TypedDict):
    room: str
    calls: list[Call]
    more: bool


_CallFrom = TypedDict("_CallFrom", {"from": str})


@final
class Call(_CallFrom):
    room: str
    seq: int
    """Identifies the call in its room: the seq of its message."""
    media: CallMedia
    state: CallState
    time: int
    ringUntil: int
    """The end of the ringing."""
    ended: NotRequired[int]
    """The time at which the call was over. Absent before."""
    users: list[CallUser]
    """The users who have answered or declined, and those who have hung up."""


@final
class CallUser(TypedDict):
    user: str
    state: Literal["answered", "declined", "left"]
    device: NotRequired[str]
    """The device of this action. Absent if the session has none."""


_RungFrom = TypedDict("_RungFrom", {"from": str})


@final
class Rung(_RungFrom):
    room: str
    seq: int
    """Identifies the call in its room: the seq of its message."""
    media: CallMedia
    state: CallState
    time: int
    ringUntil: int
    """The end of the ringing."""
    ended: NotRequired[int]
    """The time at which the call was over. Absent before."""
    users: list[RungUser]
    """The users who have answered or declined, and those who have hung up."""
    duplicate: NotRequired[Literal[True]]
    """The request began no new call."""
    delivery: NotRequired[Delivery]


@final
class RungUser(TypedDict):
    user: str
    state: Literal["answered", "declined", "left"]
    device: NotRequired[str]
    """The device of this action. Absent if the session has none."""


@final
class Members(TypedDict):
    members: list[Presence]
    more: bool
    memberCount: int
    onlineCount: int


@final
class Presence(TypedDict):
    user: str
    name: NotRequired[str]
    avatar: NotRequired[str]
    role: NotRequired[RoomRole]
    """The role in the room, in a list of its members. Absent for the role `member`."""
    restrictedUntil: NotRequired[int]
    online: bool
    """Also False if the user does not show this to the reader."""
    activity: NotRequired[Activity]
    """The activity of the user's most active session. Absent if the user is offline."""
    isFocused: bool | None
    """True if the user's notifications are silenced. None: no device has reported it, or the user does not show
    it to the reader.
    """
    focusSince: NotRequired[int]
    """The time since when notifications are silenced. Absent if they are not."""
    lastSeen: NotRequired[int]
    """The time of the user's last request or session, in whole seconds."""
    status: NotRequired[Status]
    """Absent if the user has none, or does not show the reader whether they are online."""


@final
class Status(TypedDict):
    """The status of a user, with `text` or `emoji`."""

    text: NotRequired[str]
    emoji: NotRequired[str]
    until: NotRequired[int]
    """The time at which the relay ends the status."""


@final
class Membership(TypedDict):
    room: str
    user: str
    epoch: str
    seq: int
    """The number of the newest message."""
    read: int
    """The member's read mark."""
    memberCount: int


@final
class InvitedMember(TypedDict):
    """The user is invited, and no member yet."""

    room: str
    user: str
    invited: Literal[True]


@final
class MemberRole(TypedDict):
    room: str
    user: str
    role: RoomRole


@final
class MemberRestriction(TypedDict):
    room: str
    user: str
    until: NotRequired[int]
    """The end of the restriction. Absent without one."""


_ReportedMessageFrom = TypedDict("_ReportedMessageFrom", {"from": str})


@final
class ReportedMessage(_ReportedMessageFrom):
    report: int
    """The id of the report."""
    room: str
    seq: int
    user: str
    """The user who has reported the message."""
    reason: str
    time: int
    """The time of the report."""
    state: ReportState
    closed: NotRequired[int]
    """The time at which the report was ended."""
    duplicate: NotRequired[Literal[True]]
    """The user has reported the message before. Nothing has changed."""


@final
class ReportPage(TypedDict):
    room: str
    reports: list[MessageReport]
    more: bool
    """True if a later page has more."""


_MessageReportFrom = TypedDict("_MessageReportFrom", {"from": str})


@final
class MessageReport(_MessageReportFrom):
    report: int
    """The id of the report. It increases with each report of the relay."""
    room: str
    seq: int
    user: str
    """The user who has reported the message."""
    reason: str
    time: int
    """The time of the report."""
    state: ReportState
    by: NotRequired[str]
    """The user who has ended the report. Absent for an open report, and for a backend that acts for nobody."""
    closed: NotRequired[int]
    """The time at which the report was ended. Absent for an open report."""


@final
class AllReportsPage(TypedDict):
    reports: list[MessageReport]
    more: bool
    """True if a later page has more."""


@final
class Read(TypedDict):
    room: str
    read: int


@final
class ListPresenceResult(TypedDict):
    presence: list[Presence]


@final
class FocusResult(TypedDict):
    applied: bool
    """False: the report is older than the newest one of the device."""
    number: NotRequired[int]
    isFocused: bool | None
    """The combined state of all devices."""
    focusSince: NotRequired[int]
    settlesAt: NotRequired[int]
    """The time from which a False of this device counts. Until then the user stays silenced, so that `isFocused`
    is still True. Absent when the report counts already.
    """


@final
class FilterResult(TypedDict):
    applied: bool
    """False: the report is older than the newest one of the device."""
    number: NotRequired[int]


@final
class Preferences(TypedDict):
    rooms: dict[str, RoomPreference]
    """The rooms with settings of their own."""
    onFocus: SilenceMode
    quietHours: QuietHours | None
    breakThrough: PreferencesBreakThrough
    quietCalls: bool
    quietTimeSensitive: bool
    pushUnreadAfter: int | None
    shareFocus: Audience
    shareOnline: Audience
    warnings: NotRequired[list[ReplyWarning]]
    """Preferences that the relay cannot use as they are. Absent if there are none."""


@final
class RoomPreference(TypedDict):
    level: Literal["all", "mentions", "none"]
    until: NotRequired[int]
    """The end of the level. Absent: no end."""
    criteria: NotRequired[str]


_QuietHoursFrom = TypedDict("_QuietHoursFrom", {"from": str})


@final
class QuietHours(_QuietHoursFrom):
    """Quiet hours on every device of the user."""

    to: str
    """The time at which quiet hours end, as `HH:MM`. A time that is not after `from` is on the next day. If both
    are equal, quiet hours last a whole day.
    """
    days: NotRequired[list[int] | None]
    """The days on which quiet hours begin. 1 is Monday. Absent: every day."""
    timeZone: NotRequired[str | None]
    """An IANA name, such as Europe/Berlin. Absent: each device follows the `timeZone` of its registration. A
    device without one follows the device of the user that registered last with one. Without any, UTC applies.
    """
    mode: Literal["passive", "hold"]
    """`passive`: the relay pushes without a sound. `hold`: the relay pushes at their end."""


@final
class PreferencesBreakThrough(TypedDict):
    users: list[str]
    mentions: bool


@final
class ReplyWarning(TypedDict):
    """A field that the relay has stored but cannot use as it is, or the end of another account."""

    code: Literal[
    "no_voip_entitlement", "account_ended", "unknown_time_zone", "last_time_zone_rules", "no_time_zone",
]
    """`no_voip_entitlement`: the app has no `voip` among its `entitlements`. The relay does not use the
    `voipToken`, and calls come as alerts. `account_ended`: the device of another user with this token has
    ended, because a token belongs to one app and to at most 8 users. `unknown_time_zone`: the relay does not
    know the `timeZone` of the device, which counts as a device without one. `last_time_zone_rules`: the
    system's zone files lack the `timeZone`, which keeps its last rules. `no_time_zone`: the quiet hours have
    no `timeZone`, and no device has one that the relay knows, so that UTC applies.
    """
    message: str
    at: str
    """A JSON pointer into the request."""


@final
class RoomWish(TypedDict):
    level: NotRequired[Literal["all", "mentions", "none", None]]
    """The messages that the relay pushes. A level without `until` has no end."""
    until: NotRequired[int | None]
    """The end of the level: from then on, the relay pushes all messages. None: no end."""
    criteria: NotRequired[str | None]
    """The user's own label of the room, which Focus filters match. At most 128 bytes. None: no label."""


@final
class BreakThrough(TypedDict):
    """The messages that break through quiet hours."""

    users: NotRequired[list[str] | None]
    """The users whose messages break through."""
    mentions: NotRequired[bool | None]
    """True: a message breaks through that mentions the user, or answers a message of the user."""


@final
class SetStatusResult(TypedDict):
    status: Status | None
    """The status from now on."""


@final
class ListUsersResult(TypedDict):
    users: list[ListedUser]
    more: bool
    """True if a later page has more."""


@final
class ListedUser(TypedDict):
    user: str
    name: NotRequired[str]
    """The name that other users see."""
    online: bool
    lastSeen: NotRequired[int]
    """The time at which the relay has last seen the user. Absent while the user is online, and for a user whom
    it has never seen.
    """
    sessions: int
    """The number of open sessions."""
    devices: int
    """The number of registered devices."""
    suspended: NotRequired[bool]
    """True: the user is suspended. Absent otherwise."""


@final
class ListAllSessionsResult(TypedDict):
    sessions: list[Session]
    more: bool
    """True if a later page has more."""


@final
class Session(TypedDict):
    user: str
    session: str
    """The id, as in `welcome`."""
    device: NotRequired[str]
    since: int
    """The time of the `hello`, in whole seconds."""
    activity: Activity
    expires: NotRequired[int]
    """The time at which the relay closes the session unless it gets a newer token: `tokens.grace` after the end
    of its token.
    """
    rooms: int
    """The number of rooms that it has joined."""


@final
class Profile(TypedDict):
    user: str
    name: NotRequired[str]
    avatar: NotRequired[str]
    avatarSHA256: NotRequired[str]
    handle: NotRequired[str]
    handleType: NotRequired[str]


@final
class Erasure(TypedDict):
    erasure: str
    """The id of the erasure."""
    state: Literal["running", "done"]
    messages: Literal["delete", "anonymize"]
    started: int
    finished: NotRequired[int]
    """Absent while the erasure is in progress."""
    leftRooms: int
    """The number of ended memberships."""
    changedMessages: int
    """The number of messages that were deleted, or that lost the name of the user."""
    failure: NotRequired[ErasureFailure]
    """The last attempt, if it has failed. The relay tries again until the cause is over. Absent after an attempt
    that has succeeded.
    """
    sessions: NotRequired[int]
    """The number of closed sessions. Only the reply of `DELETE` has it."""


@final
class ErasureFailure(TypedDict):
    """The last attempt, if it has failed. The relay tries again until the cause is over. Absent after an attempt
    that has succeeded.
    """

    cause: Literal["unavailable", "damaged", "internal"]
    """`unavailable`: the disk, or the log of the cluster, accepts no changes. `damaged`: the database has
    invalid contents. `internal`: the database rejected the change, which is a fault of the relay. The log of
    the relay has the error.
    """
    attempts: int
    """The number of attempts that have failed since the last one that succeeded."""
    time: int
    """The time of the last attempt."""
    retry: int
    """The time of the next attempt: 1 second after the first failure, and at most 60 seconds after a later one."""


@final
class InvitationPage(TypedDict):
    invitations: list[Invitation]
    """Newest first."""
    next: NotRequired[str]
    """The `after` of the next page. Absent in the last one."""


@final
class Invitation(TypedDict):
    """An offer of a membership by another user."""

    room: str
    kind: RoomKind
    title: NotRequired[str]
    avatar: NotRequired[str]
    members: int
    """The number of members. 2 for a direct room."""
    by: InvitationBy
    """The user who has invited."""
    time: int
    """The time of the invitation."""


@final
class InvitationBy(TypedDict):
    """The user who has invited."""

    user: str
    name: NotRequired[str]
    avatar: NotRequired[str]


@final
class InboxPage(TypedDict):
    rooms: list[InboxEntry]
    position: str
    """The position for `since`."""
    next: NotRequired[str]
    """The `after` of the next page. Absent in the last page."""
    reset: NotRequired[Literal[True]]
    """The changes are not complete. This is the first page of the whole list."""


@final
class InboxEntry(TypedDict):
    room: str
    kind: RoomKind
    title: NotRequired[str]
    avatar: NotRequired[str]
    members: InboxEntryMembers
    lastMessage: NotRequired[InboxEntryLastMessage]
    """The newest message. Absent if the room has none, or keeps none any more."""
    unread: int
    """The messages of others above the read mark that count as unread."""
    mentions: int
    """The unread messages that mention the user, or answer a message of the user."""
    muted: bool
    """True if the preferences of the user allow no notifications of the room now."""
    read: int
    """The read mark of the user. Marks are stored some milliseconds late."""


@final
class InboxEntryMembers(TypedDict):
    count: int
    other: NotRequired[InboxEntryMembersOther]
    """The other person of a direct room, also after that person has left."""


@final
class InboxEntryMembersOther(TypedDict):
    """The other person of a direct room, also after that person has left."""

    user: str
    name: NotRequired[str]
    avatar: NotRequired[str]


_InboxEntryLastMessageFrom = TypedDict("_InboxEntryLastMessageFrom", {"from": str})


@final
class InboxEntryLastMessage(_InboxEntryLastMessageFrom):
    """The newest message. Absent if the room has none, or keeps none any more."""

    seq: int
    time: int
    name: NotRequired[str]
    """The name of the sender that others see."""
    preview: NotRequired[str]
    """The beginning of the text, at most 160 characters and 1,024 bytes: of the body if it is a string, or else
    of its member `text`. Absent without the right `history` in the room.
    """
    deleted: NotRequired[Literal[True]]


@final
class Blocked(TypedDict):
    user: str
    blocked: str


@final
class ListSessionsResult(TypedDict):
    sessions: list[Session]
    more: bool
    """True if a later page has more."""


@final
class ListDevicesResult(TypedDict):
    devices: list[Device]
    more: bool
    """True if a later page has more."""


@final
class Device(TypedDict):
    device: str
    app: NotRequired[str]
    platform: NotRequired[Literal["apns", "webpush", "http", "simulator"]]
    """Absent if the device was forgotten."""
    environment: NotRequired[Literal["production", "sandbox"]]
    topic: NotRequired[str]
    criteria: NotRequired[str]
    settings: NotRequired[DeviceSettings]
    """The permissions that the owner of the device gives the app. Absent if the device was forgotten."""
    locale: NotRequired[str]
    timeZone: NotRequired[str]
    registered: NotRequired[int]
    """The time of the newest registration. Only the list of devices has it."""
    reportKeys: NotRequired[int]
    """The number of valid report keys. Only the list of devices has it."""
    warnings: NotRequired[list[ReplyWarning]]
    """Fields that the relay has stored but cannot use as they are, and the end of another account. Absent if
    there are none.
    """
    reportKey: NotRequired[str]
    """A new credential for the app's extensions on this device. Only the reply to a registration has it."""


@final
class DeviceSettings(TypedDict):
    """The permissions that the owner of the device gives the app. Absent if the device was forgotten."""

    alerts: bool
    timeSensitive: bool


@final
class RegisterDeviceToken(TypedDict):
    """The address of the device at the gateway. `simulator`: a name. `apns`: pairs of hexadecimal digits.
    `http`: the pushkey. `webpush`: the subscription of the browser. null forgets the device.
    """

    endpoint: str
    """An https URL of an allowed push service, on port 443 unless another port is allowed."""
    keys: RegisterDeviceTokenKeys


@final
class RegisterDeviceTokenKeys(TypedDict):
    p256dh: str
    """A point of P-256, 65 bytes in base64url."""
    auth: str
    """16 bytes in base64url."""


_DecisionsFrom = TypedDict("_DecisionsFrom", {"from": str})


@final
class Decisions(_DecisionsFrom):
    room: str
    user: str
    devices: list[DecisionsDevice]


@final
class DecisionsDevice(TypedDict):
    device: NotRequired[str]
    """Absent if the recipient has no device."""
    decision: Decision
    facts: Facts


@final
class Decision(TypedDict):
    outcome: DecisionOutcomeNone | DecisionOutcomeWait | DecisionOutcomeHold | DecisionOutcomePush
    reasons: list[DecisionReason]
    """Every rule that matched. The first one decided."""


@final
class DecisionOutcomeNone(TypedDict):
    """No push now and none later."""

    kind: Literal["none"]
    reason: ReasonCode


@final
class DecisionOutcomeWait(TypedDict):
    """The relay decides again at this time, or as soon as a fact changes."""

    kind: Literal["wait"]
    until: int


@final
class DecisionOutcomeHold(TypedDict):
    """As `wait`, for a push that waits only because the recipient is silenced."""

    kind: Literal["hold"]
    until: int


@final
class DecisionOutcomePush(TypedDict):
    kind: Literal["push"]
    level: Level


@final
class DecisionReason(TypedDict):
    rule: int
    """The position of the rule in the table. A later version of the relay may change it. Use the code."""
    code: ReasonCode
    words: str
    """The meaning of the rule."""


@final
class Facts(TypedDict):
    """All facts that the decision used."""

    message: MessageFacts
    recipient: RecipientFacts
    device: NotRequired[DeviceFacts]
    now: int
    released: NotRequired[int]
    """The time at which the hold of the push ended, in milliseconds since 1970. Absent if nothing has held the
    push, or if the hold continues.
    """


@final
class MessageFacts(TypedDict):
    sender: str
    time: int
    """The time at which the relay accepted the message."""
    expires: int
    """The time after which the relay no longer pushes the message."""
    kind: Literal["message", "call", "invitation"]
    level: Level
    """The level of the request."""
    isUrgentAllowed: bool
    """The sender has the right `urgent`."""
    criteria: NotRequired[str]
    """The label that the sender named."""
    isPushAsked: bool
    """True if the message and the pattern of its room permit pushes."""
    isDeleted: bool
    isNotifyAnyway: bool
    isSilent: NotRequired[Literal[True]]
    """True if the push shows nothing, so that it disturbs nobody."""


@final
class RecipientFacts(TypedDict):
    user: str
    isMember: bool
    isSuspended: bool
    """A backend has suspended the user."""
    hasBlockedSender: bool
    hasRead: bool
    hasReceivedActively: bool
    """True if an active session has received the message, or became active after it had received it."""
    roomLevel: Literal["all", "mentions", "none"]
    """The messages of the room that the relay pushes at this time."""
    isMentioned: bool
    isNamed: NotRequired[Literal[True]]
    """The message mentions the recipient by name, or answers a message of the recipient."""
    isRoomTooLarge: NotRequired[Literal[True]]
    """The room has more than `limits.pushedMembersPerRoom` members."""
    isOverCallPace: NotRequired[Literal[True]]
    """The sender calls the recipient more often than `pace.calls` allows."""
    isOverCriticalPace: NotRequired[Literal[True]]
    """The sender sends the recipient more alerts at the level `critical` than `pace.critical` allows."""
    isInvitedTooOften: NotRequired[Literal[True]]
    """No further push of an invitation may reach the recipient today."""
    roomCriteria: NotRequired[str]
    """The recipient's own label of the room."""
    onFocus: SilenceMode
    breaksQuietHours: NotRequired[Literal[True]]
    """The preference `breakThrough` lets the message break through quiet hours."""
    quietCalls: NotRequired[Literal[True]]
    """The preference `quietCalls`."""
    quietTimeSensitive: NotRequired[Literal[True]]
    """The preference `quietTimeSensitive`."""
    pushUnreadAfter: NotRequired[int]
    """The preference `pushUnreadAfter`, in seconds."""
    sessions: list[SessionFacts]
    """The recipient's sessions in the room."""
    away: NotRequired[RecipientFactsAway]
    """The end of the last session in the room."""


@final
class SessionFacts(TypedDict):
    activity: Activity
    writing: SessionFactsWritingPending | SessionFactsWritingWritten | SessionFactsWritingMissed
    """The progress of the message to the session."""
    hasReceived: bool


@final
class SessionFactsWritingPending(TypedDict):
    """The message waits in the session's queue."""

    pending: dict[str, Any]


@final
class SessionFactsWritingWritten(TypedDict):
    written: SessionFactsWritingWrittenWritten


@final
class SessionFactsWritingWrittenWritten(TypedDict):
    at: int


@final
class SessionFactsWritingMissed(TypedDict):
    """The session began after the message and did not receive it."""

    missed: SessionFactsWritingMissedMissed


@final
class SessionFactsWritingMissedMissed(TypedDict):
    joined: int


@final
class RecipientFactsAway(TypedDict):
    """The end of the last session in the room."""

    since: int
    isClean: bool
    """True if the session ended with a close frame with code 1000, or with `leave` and `stay`."""


@final
class DeviceFacts(TypedDict):
    allowsAlerts: bool
    hasVoIPToken: bool
    lacksVoIPEntitlement: NotRequired[Literal[True]]
    """True if the device has a VoIP token that the relay does not use, because the app has no entitlement for
    VoIP.
    """
    allowsTimeSensitive: bool
    allowsCritical: bool
    focusedUntil: NotRequired[int]
    """The time at which the device's own True ends without a renewal."""
    focusSource: NotRequired[Literal["intent", "center", "manual"]]
    """The source of the device's last Focus report."""
    filter: NotRequired[DeviceFactsFilter]
    """The active filter."""
    quiet: NotRequired[DeviceFactsQuiet]
    """The quiet hours in force at the device, in its time zone."""
    criteria: NotRequired[str]
    """The label of the account."""


@final
class DeviceFactsFilter(TypedDict):
    """The active filter."""

    allow: list[str]
    until: int


@final
class DeviceFactsQuiet(TypedDict):
    """The quiet hours in force at the device, in its time zone."""

    mode: SilenceMode
    until: int


@final
class LintReport(TypedDict):
    findings: list[Finding]
    """The findings in the order of the text, with those of headers last. At most 100, and a note if there are
    more.
    """
    payload: NotRequired[str]
    """The corrected payload in its shortest form, if `lenient` is True. Absent if the linter had to guess to
    read the text.
    """


@final
class Finding(TypedDict):
    rule: LintRule
    severity: Literal["error", "warning", "note"]
    """`error`: Apple's service refuses the push, or the push does not show as intended. `warning`: Apple's
    service accepts the push, but it is probably a mistake; or `lenient` has corrected the error.
    """
    at: NotRequired[str]
    """The value or member, as a JSON pointer into the payload of the request. Long keys in it are shortened."""
    line: NotRequired[int]
    column: NotRequired[int]
    """The column, in Unicode scalars."""
    header: NotRequired[str]
    """The name of the header, for a finding about a header."""
    words: str
    """The fault."""
    mend: NotRequired[str]
    """The correction."""
    replacement: NotRequired[str]
    """The correct text of the value or key, if it is certain."""


@final
class Categories(TypedDict):
    version: int
    """The number of changes so far."""
    categories: list[Category]


@final
class Category(TypedDict):
    id: str
    actions: NotRequired[list[Action] | None]
    """The actions, in the order in which they are shown. A banner shows the first four."""
    options: NotRequired[list[Literal[
    "customDismissAction", "allowInCarPlay", "hiddenPreviewsShowTitle", "hiddenPreviewsShowSubtitle",
    "allowAnnouncement",
]] | None]
    """Options of `UNNotificationCategoryOptions`. Without `customDismissAction` an app does not learn that the
    user dismissed a notification.
    """
    hiddenPreviewBody: NotRequired[str | dict[str, str] | None]
    """The text that replaces the body while previews are hidden. At most 1,024 bytes for each language. An empty
    string counts as absent.
    """
    summaryFormat: NotRequired[str | dict[str, str] | None]
    """The format by which older systems summarize a group of notifications. At most 1,024 bytes for each
    language.
    """


@final
class Action(TypedDict):
    id: str
    """The id does not begin with `com.apple.`."""
    title: str | dict[str, str]
    """At most 256 bytes for each language."""
    options: NotRequired[list[Literal["foreground", "destructive", "authenticationRequired"]] | None]
    """Options of `UNNotificationActionOptions`."""
    icon: NotRequired[ActionIconSystem | ActionIconTemplate | None]
    """`UNNotificationActionIcon`: the name of an SF Symbol (`system`) or of a template image in the app
    (`template`).
    """
    textInput: NotRequired[ActionTextInput | None]
    """The action has a text field. Its texts have at most 256 bytes for each language."""
    posts: NotRequired[bool | None]
    """True: the text becomes a message of the user in the room of the notification. Needs `textInput`."""


@final
class ActionIconSystem(TypedDict):
    system: str


@final
class ActionIconTemplate(TypedDict):
    template: str


@final
class ActionTextInput(TypedDict):
    """The action has a text field. Its texts have at most 256 bytes for each language."""

    button: str | dict[str, str]
    placeholder: str | dict[str, str]


@final
class Responded(TypedDict):
    notification: str
    room: NotRequired[str]
    seq: NotRequired[int]
    action: str
    time: int
    posted: NotRequired[int]
    """The number of the message that the text became."""
    duplicate: NotRequired[bool]
    """True: the fields are those of the first response."""


@final
class ReceivePushResult(TypedDict):
    notification: str
    received: int
    """The time of the first confirmation."""


@final
class PostedNotification(TypedDict):
    user: str
    time: int
    duplicate: NotRequired[Literal[True]]
    devices: list[PostedNotificationDevice]
    """One entry for each device. One entry without `device` if the user has none."""


@final
class PostedNotificationDevice(TypedDict):
    device: NotRequired[str]
    push: NotRequired[str]
    """The id of the queued push. Absent if there is no push, or if the push is silent."""
    decision: NotRequired[Decision]
    """Absent for a duplicate."""


@final
class ListPushesResult(TypedDict):
    pushes: list[Push]
    more: bool
    """True if older pushes exist."""


@final
class Push(TypedDict):
    id: str
    room: NotRequired[str]
    """Absent for a notification without a message."""
    seq: NotRequired[int]
    """The number of the message. Absent for a notification without a message."""
    user: str
    """The recipient."""
    device: str
    platform: Literal["apns", "webpush", "http", "simulator"]
    state: PushState
    summary: str
    """The state and the decision in words."""
    level: NotRequired[Level]
    """The level of the last decision."""
    created: int
    due: int
    """The time of the next attempt. For a held push: the time of the next decision."""
    attempts: list[PushAttempt]
    """The newest attempts, with the newest last. One attempt of the queue may contain several, for example over
    another connection or in the other environment.
    """
    finished: NotRequired[int]
    received: NotRequired[int]
    """The time at which the app's extension confirmed that the push arrived."""
    revived: NotRequired[int]
    """The time at which the dead letter was last retried."""
    note: NotRequired[str]
    """The result of the last attempt, or the reason of the end."""
    notifyAnyway: NotRequired[Literal[True]]
    mergedInto: NotRequired[str]
    """The push that contains the message of this push."""
    digest: NotRequired[list[PushDigest]]
    """The rooms of the digest, with the push's own room first. Absent if the push has only its own message."""
    explanation: NotRequired[PushExplanation]
    """The last decision. Absent for pushes of an earlier version that did not store it."""


@final
class PushAttempt(TypedDict):
    time: int
    status: NotRequired[int]
    """The HTTP status. Absent if there was no answer, or if the gateway is the relay's simulator."""
    reason: NotRequired[str]
    """The reason of a failure, as the service names it if it does."""
    words: NotRequired[str]
    """More text of the service's answer."""


@final
class PushDigest(TypedDict):
    room: str
    seq: int
    """The number of the newest message."""
    count: int


@final
class PushExplanation(TypedDict):
    """The last decision. Absent for pushes of an earlier version that did not store it."""

    decision: Decision
    facts: Facts


@final
class RetryPushesResult(TypedDict):
    pushes: list[RetriedPush]
    more: bool
    """True if older dead letters exist."""


@final
class RetriedPush(TypedDict):
    id: str
    """The id of the push."""
    retried: bool
    reason: NotRequired[str]
    """The reason why the relay does not retry the push: it has expired, or its device or its message no longer
    exists. The push stays a dead letter.
    """


@final
class Access(TypedDict):
    user: str
    suspended: bool
    until: NotRequired[int]
    reason: NotRequired[str]
    notBefore: NotRequired[int]
    sessions: NotRequired[int]
    """The number of sessions that this request has closed. Only the reply of `PUT` has it."""


@final
class DisconnectUserResult(TypedDict):
    sessions: int


@final
class AuditPage(TypedDict):
    entries: list[AuditEntry]
    next: NotRequired[int]
    """The value of `before` or `after` for the next page. Absent on the last page."""
    more: bool
    """True if a later page may have more."""


@final
class AuditEntry(TypedDict):
    entry: int
    """The number of the entry. It increases with each entry of the relay."""
    time: int
    """The begin of the request."""
    key: str
    """The name of the API key."""
    operation: str
    """The `operationId` of this document."""
    result: Literal["ok"] | ErrorCode
    """`ok`, or the code of the error."""
    room: NotRequired[str]
    """The room that the request names or has created. Absent if it concerns no single room."""
    users: NotRequired[list[str]]
    """The users that the request names, also the one it acts for, in alphabetical order. An erased user has a
    pseudonym. Absent without a user.
    """
    target: NotRequired[str]
    """The number of the message or report, the id of the push, notification or erasure, or the name of the
    device in the path.
    """
    idempotencyKey: NotRequired[str]
    address: NotRequired[str]
    """The IP address of the client."""
    skipped: NotRequired[int]
    """The number of failed requests of the key before this one that have no entry, because they were too many."""


@final
class LockScreen(TypedDict):
    notifications: list[Notification]
    badge: int
    """The number on the icon of the app. The newest push with a badge has set it."""
    isReachable: bool


@final
class Notification(TypedDict):
    payload: dict[str, Any]
    """The payload as a gateway sends it."""
    headers: dict[str, str]
    time: int


@final
class Reachability(TypedDict):
    isReachable: bool
    """True if pushes reach the phone."""


@final
class GetWebPushKeyResult(TypedDict):
    publicKey: str | None
    """The `applicationServerKey` of a subscription: 65 bytes in base64url."""


@final
class IsLiveResult(TypedDict):
    status: Literal["live"]


@final
class Readiness(TypedDict):
    status: Literal["starting", "ready", "damaged", "stopping", "standby", "alarm"]
    leader: NotRequired[str]
    """At a standby of a cluster, the URL of the leader."""
    alarm: NotRequired[str]
    """With the status `alarm`, its code. The node has stopped."""
    reason: NotRequired[Literal[
    "log_unavailable", "takeover_refused", "loading_snapshot", "no_snapshot", "snapshot_rejected",
    "snapshot_failed", "file_failed", "behind", "no_proof",
]]
    """At a standby that cannot follow or take over now, the reason. A leader that waits for a proof that it
    leads answers as a standby with `no_proof`.
    """
    warnings: NotRequired[list[ClusterWarning]]
    text: NotRequired[str]
    """The reason, the alarm or the damage of the database for the operator, with the error of NATS or the next
    step.
    """
    store: NotRequired[Literal["available", "unavailable", "damaged"]]
    """The state of the store. `unavailable`: the last transaction has failed, for example because the disk is
    full. `damaged`: a page of the database cannot be read, and the relay stores nothing until an operator has
    replaced the database. `store`, `clock`, `blockedLog`, `failing`, `paused` and `warnings` are present in
    open mode, with an API key, or if `metrics.open` is set; the value `damaged` is present for all callers.
    """
    clock: NotRequired[ReadinessClock]
    """Present while the relay deletes nothing by its age, because its clock may be wrong."""
    blockedLog: NotRequired[ReadinessBlockedLog]
    """A process that reads the database, such as a shell or a backup, keeps the write-ahead log from a restart.
    The log grows until the process has ended its read. Absent if there is no such process. Present for the
    same callers as `store`.
    """
    failing: NotRequired[list[ReadinessFailing]]
    """Push services whose last answer was an error of their own, or that did not answer the last push. A service
    is not in the list if no push has failed for 20 minutes. The relay tries the pushes again. The relay is
    ready nevertheless, because another one would not reach these services either.
    """
    paused: NotRequired[list[ReadinessPaused]]
    """Apps and services whose pushes wait: apps whose credential or topic Apple's service refuses, push services
    of browsers that refuse the relay's key, and apps whose Matrix gateway accepts no pushes. Also apps whose
    refused tokens the relay does not remove until a time, because push services refused a twentieth of their
    devices, and at least 20, within an hour.
    """


@final
class ClusterWarning(TypedDict):
    code: Literal["lost_replicas", "clock_differs", "no_consumer"]
    text: str


@final
class ReadinessClock(TypedDict):
    """Present while the relay deletes nothing by its age, because its clock may be wrong."""

    cause: Literal["step", "stop"]
    """`step`: the wall clock was set while the relay ran. `stop`: at the start, the last known time was far
    away.
    """
    wait: int
    """Seconds until the wait ends, if nobody sets the clock."""


@final
class ReadinessBlockedLog(TypedDict):
    """A process that reads the database, such as a shell or a backup, keeps the write-ahead log from a restart.
    The log grows until the process has ended its read. Absent if there is no such process. Present for the
    same callers as `store`.
    """

    bytes: int
    """The size of the log."""
    seconds: int
    """The time since when the process blocks the log."""


@final
class ReadinessFailing(TypedDict):
    platform: Literal["apns", "webpush", "http"]
    app: NotRequired[str]
    environment: NotRequired[Literal["production", "sandbox"]]
    origin: NotRequired[str]
    """The push service of a browser."""
    reason: str
    """The reason of the first failure, as in the attempts of a push."""
    cause: NotRequired[str]
    """The error in words."""
    since: int


@final
class ReadinessPaused(TypedDict):
    origin: NotRequired[str]
    app: NotRequired[str]
    environment: NotRequired[Literal["production", "sandbox"]]
    platform: NotRequired[Literal["http"]]
    until: NotRequired[int]
    reason: str
    """The reason as Apple's service names it, or `TooManyForgotten`."""


@final
class ConfirmClockResult(TypedDict):
    waited: bool


@final
class ClusterNode(TypedDict):
    node: str
    """The name of the node."""
    url: str
    """The URL at which clients reach the node."""
    role: Literal["loading", "follower", "leader", "alarm"]
    term: int
    """The number of leaders so far."""
    sequence: int
    """The newest record in the node's file."""
    lag: NotRequired[int]
    """The number of records that the file lacks. Missing while the node does not know the newest record."""
    reachesLog: bool
    """True if the servers of the log have answered the newest request of the node."""
    replicas: NotRequired[ClusterNodeReplicas]
    """The NATS servers that store each stream. Missing while the node does not know them."""
    clockDifference: NotRequired[float]
    """The clock of the node minus the clock of the leader, in seconds. Missing at the leader, and if it is not
    known.
    """
    leader: NotRequired[ClusterNodeLeader]
    """Missing if no leader is known."""
    alarm: NotRequired[ClusterNodeAlarm]
    """The reason why the node has stopped, and the next step of the operator."""
    obstacle: NotRequired[ClusterNodeObstacle]
    """The reason why the node cannot follow, take over or serve now. It ends by itself."""
    warnings: NotRequired[list[ClusterWarning]]


@final
class ClusterNodeReplicas(TypedDict):
    """The NATS servers that store each stream. Missing while the node does not know them."""

    log: NotRequired[StreamReplicas]
    snapshots: NotRequired[StreamReplicas]


@final
class StreamReplicas(TypedDict):
    current: int
    """The number of servers that run and have all records."""
    configured: int
    """The number of servers that should have all records."""


@final
class ClusterNodeLeader(TypedDict):
    """Missing if no leader is known."""

    node: str
    url: str


@final
class ClusterNodeAlarm(TypedDict):
    """The reason why the node has stopped, and the next step of the operator."""

    code: str
    text: str


@final
class ClusterNodeObstacle(TypedDict):
    """The reason why the node cannot follow, take over or serve now. It ends by itself."""

    code: str
    text: str
