# SPDX-License-Identifier: Apache-2.0
# generate.py has generated this file from the OpenAPI document.
"""The operations of the HTTP interface."""

from abc import ABC, abstractmethod
from typing import Any, Literal

from . import types
from .requests import OMITTED, Omitted, Request, new_key, segment


class Operations(ABC):
    """The operations of a client."""

    @abstractmethod
    def _send(self, request: Request) -> Any: ...

    def list_all_rooms(
        self,
        *,
        prefix: str | None = None,
        recent: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListAllRoomsResult:
        """List all rooms.

        The list has the stored rooms, and the rooms that store nothing while they have members. It is sorted
        by name, so a room that exists from the first page to the last is in exactly one page. A room that is
        created or deleted meanwhile may be missing. With `recent` the answer is the only page, and `more` is
        False. In a cluster the leader answers.

        Args:
            prefix: Only rooms whose names begin with this text.
            recent: True: only the stored rooms with the newest messages, the newest first. Not together with
                `prefix` or `after`.
            after: The last room of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the rooms.
        """
        result: types.ListAllRoomsResult = self._send(
            Request(
                "GET",
                "/v1/rooms",
                query={"prefix": prefix, "recent": recent, "after": after, "limit": limit},
            )
        )
        return result

    def create_room(
        self,
        *,
        room: str | None | Omitted = OMITTED,
        owner: str | None | Omitted = OMITTED,
        kind: types.RoomKind | None | Omitted = OMITTED,
        title: str | None | Omitted = OMITTED,
        avatar: str | None | Omitted = OMITTED,
        metadata: dict[str, Any] | None | Omitted = OMITTED,
        read_only: bool | None | Omitted = OMITTED,
        members: list[str] | None | Omitted = OMITTED,
        join: types.RoomJoin | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
    ) -> types.CreatedRoom:
        """Create a room.

        The user becomes the owner. The caller needs the rights `join` and `create` in the room. A backend
        makes the other users members at once; their sessions get the event `room`. The setting
        `rooms.invitations` decides which of them a user's token only invites. The reply does not say whether
        a name exists or has blocked the caller. Above `limits.newPeoplePerDay` invited people a day: 429. A
        room has at most 1,000 open invitations: 413. A room of this name must not exist: 409. Without `room`
        the relay makes a name that begins with `group.` or `direct.`, so that patterns of the configuration
        match it.

        Args:
            owner: The first owner. An API key needs it, unless `X-Stillwire-User` names the user. A token
                must not have it.
            kind: Default: `group`. `direct` needs exactly one other member, and has no `room`, title or
                picture.
            read_only: True: only moderators and owners send. Not for a direct room.
            members: The other first members, and the users to invite.
            join: Default: `open`. A direct room is always `invited`.
            key: An idempotency key of the user: the same key within 5 minutes creates nothing twice. At most
                128 bytes. The default is a new key, so that the client can retry.

        Returns:
            201: The room was created.
            200: The relay received the same key within the last 5 minutes, or the direct room exists. Nothing
                was created.
        """
        result: types.CreatedRoom = self._send(
            Request(
                "POST",
                "/v1/rooms",
                body={
                    "room": room, "owner": owner, "kind": kind, "title": title, "avatar": avatar,
                    "metadata": metadata, "readOnly": read_only, "members": members, "join": join, "key":
                    new_key(key),
                },
                is_repeatable=True,
            )
        )
        return result

    def get_room(
        self,
        room: str,
    ) -> types.Room:
        """Read the record of a room.

        A user must be a member, and needs the right `join`.

        Returns:
            The record.
        """
        result: types.Room = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}",
            )
        )
        return result

    def update_room(
        self,
        room: str,
        *,
        title: str | None | Omitted = OMITTED,
        avatar: str | None | Omitted = OMITTED,
        metadata: dict[str, Any] | None | Omitted = OMITTED,
        read_only: bool | None | Omitted = OMITTED,
        version: int | None | Omitted = OMITTED,
    ) -> types.Room:
        """Change the title, the picture and the metadata of a room, and open or close sending.

        Absent fields do not change. In a group the caller needs the role of an owner or a moderator, or the
        right `moderate`. In a direct room both people may change the metadata, and nothing else. All sessions
        of the members get the event `room`, except the one that made the change. If the record has another
        version than the request: 409, or 412 with `If-Match`.

        Args:
            title: None removes the title.
            avatar: None removes the picture.
            metadata: Replaces the whole object. None removes it.
            read_only: True: only moderators and owners send. Not for a direct room.
            version: The relay changes only this version of the record.

        Returns:
            The record, with the changes.
        """
        result: types.Room = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}",
                body={
                    "title": title, "avatar": avatar, "metadata": metadata, "readOnly": read_only,
                    "version": version,
                },
            )
        )
        return result

    def delete_room(
        self,
        room: str,
    ) -> None:
        """Delete a room.

        Only an owner or a backend deletes a group, and only a backend a direct room. The room is gone at
        once, with its history, its pushes and its memberships, and its name is free. All sessions of the
        members get the event `room`, except the one that deleted it. The relay deletes the stored rows in the
        background.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}",
            )
        )

    def list_messages(
        self,
        room: str,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> types.History:
        """Read the history of a room.

        Without `before` and `after`, the reply has the newest messages. A request has at most one of the two.

        Args:
            before: Only messages older than this message.
            after: Only messages newer than this message.
            limit: Maximum number of messages, at most `limits.history`.

        Returns:
            A page of messages, oldest first. The bodies have at most 256 KiB together.
        """
        result: types.History = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/messages",
                query={"before": before, "after": after, "limit": limit},
            )
        )
        return result

    def send_message(
        self,
        room: str,
        body: Any,
        *,
        from_: str | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
        mentions: list[str | Literal["*", "*online"]] | None | Omitted = OMITTED,
        reply_to: int | None | Omitted = OMITTED,
        push: bool | types.PushRequest | None | Omitted = OMITTED,
        report: bool | None | Omitted = OMITTED,
    ) -> types.Sent:
        """Send a message.

        The relay pushes the message to members who are away.

        Args:
            body: Any JSON. The relay passes it on byte for byte.
            from_: The sender. An API key needs it, unless `X-Stillwire-User` names the user. A token must not
                have it.
            key: An idempotency key of the user in the room: the same key within 5 minutes sends nothing
                twice. At most 128 bytes. The default is a new key, so that the client can retry.
            mentions: The mentioned users. The relay pushes the message to members who have selected only
                mentions of the room. `*` mentions all members, and `*online` the members who are online. Both
                need the right `mentionAll`, and a room accepts one such message a minute.
            reply_to: The number of the message that this message answers, at most the room's newest.
            push: The options of the pushes. False: the relay stores the message, and the message is neither
                pushed nor unread. In rooms that store no messages: `unsupported`.
            report: True: the sender gets `delivery` events with the result for each recipient, for the newest
                256 such messages of the room, while the room is in memory.

        Returns:
            201: The message was stored and shown to the room. In a room that stores no messages, it was shown
                only.
            200: The relay received the same key within the last 5 minutes. The reply has the `seq` and the
                `time` of that message. Nothing was sent.
        """
        result: types.Sent = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/messages",
                body={
                    "body": body, "from": from_, "key": new_key(key), "mentions": mentions, "replyTo":
                    reply_to, "push": push, "report": report,
                },
                is_repeatable=True,
            )
        )
        return result

    def edit_message(
        self,
        room: str,
        seq: int,
        body: Any,
        *,
        from_: str | None | Omitted = OMITTED,
    ) -> types.Edited:
        """Edit a message.

        As `edit`: only the sender of the message may edit it. A push that is not sent yet gets the new text.
        In a room that stores no messages: 422 `unsupported`.

        Args:
            seq: The number of the message in its room.
            body: Any JSON. The relay passes it on byte for byte.
            from_: The user who edits, for API keys, like `from` of a message.

        Returns:
            The relay stored the new body, and sent the event `edited`.
        """
        result: types.Edited = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}",
                body={
                    "body": body, "from": from_,
                },
            )
        )
        return result

    def delete_message(
        self,
        room: str,
        seq: int,
    ) -> None:
        """Delete a message.

        As `delete`: the caller is the sender of the message, or has the right `moderate`. API keys have this
        right. The relay cancels pushes that it has not sent yet. In a room that stores no messages: 422
        `unsupported`.

        Args:
            seq: The number of the message in its room.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}",
            )
        )

    def react(
        self,
        room: str,
        seq: int,
        key: str,
        *,
        from_: str | None | Omitted = OMITTED,
    ) -> types.Reacted:
        """React to a message.

        As `react`: a user has at most one reaction with a key to a message. A message has at most 20
        different keys and 1,000 reactions: 413. In a room that stores no messages: 422 `unsupported`.

        Args:
            seq: The number of the message in its room.
            key: The key of the reaction, percent-encoded.
            from_: The user. Only for API keys.

        Returns:
            The message has the reaction. If it is new, the relay sent the event `reactions`.
        """
        result: types.Reacted = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/reactions/{segment(key)}",
                body={
                    "from": from_,
                },
            )
        )
        return result

    def unreact(
        self,
        room: str,
        seq: int,
        key: str,
        *,
        from_: str | None = None,
    ) -> types.Reacted:
        """Remove a reaction.

        As `unreact`. In a room that stores no messages: 422 `unsupported`.

        Args:
            seq: The number of the message in its room.
            key: The key of the reaction, percent-encoded.
            from_: The user. Only for API keys, which can also send the header `X-Stillwire-User`.

        Returns:
            The message has no such reaction. If it had one, the relay sent the event `reactions`.
        """
        result: types.Reacted = self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/reactions/{segment(key)}",
                query={"from": from_},
            )
        )
        return result

    def notify_anyway(
        self,
        room: str,
        seq: int,
        *,
        users: list[str] | None | Omitted = OMITTED,
        from_: str | None | Omitted = OMITTED,
    ) -> types.Notified:
        """Notify silenced recipients of a message anyway.

        As `notify`: the sender of a message notifies each recipient at most once, within 10 minutes of the
        message. The relay answers 403 to a later request, and to a request in the name of a user who has not
        sent the message. In `users`, the relay ignores names that were not in `quiet`, and users whom an
        earlier request has notified. A hold ends, and the relay pushes at the level of the message with
        `notifyAnyway` in the payload. More than 5 requests a minute for the same recipient are 429.

        Args:
            seq: The number of the message in its room.
            users: Some of the users in `quiet`. Absent: all of them. The relay ignores names that were not in
                `quiet`, and users whom an earlier request has notified.
            from_: The sender of the message, for API keys, like `from` of a message.

        Returns:
            `push` is the number of recipients who are notified for the first time. It includes those who need
            no push any more.
        """
        result: types.Notified = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/notify",
                body={
                    "users": users, "from": from_,
                },
            )
        )
        return result

    def list_pins(
        self,
        room: str,
    ) -> types.PinList:
        """List the pinned messages of a room.

        The newest pin is the first.

        Returns:
            The pinned messages.
        """
        result: types.PinList = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/pins",
            )
        )
        return result

    def pin_message(
        self,
        room: str,
        seq: int,
    ) -> types.Pinned:
        """Pin a message.

        As `pin`: in a group the caller needs the role of a moderator or an owner, or the right `moderate`. A
        room has at most 50 pinned messages: 413. An unknown or deleted message: 404. In a room that stores
        nothing: 422.

        Args:
            seq: The number of the message in its room.

        Returns:
            The message is pinned. If the pin is new, the relay sent the event `pinned`.
        """
        result: types.Pinned = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/pins/{segment(seq)}",
            )
        )
        return result

    def unpin_message(
        self,
        room: str,
        seq: int,
    ) -> types.Pinned:
        """End the pin of a message.

        As `unpin`.

        Args:
            seq: The number of the message in its room.

        Returns:
            The message is not pinned. If it was, the relay sent the event `pinned`.
        """
        result: types.Pinned = self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/pins/{segment(seq)}",
            )
        )
        return result

    def list_calls(
        self,
        room: str,
        *,
        before: int | None = None,
        limit: int | None = None,
    ) -> types.CallPage:
        """List the calls of a room.

        The calls of a room, newest first. They are kept for 28 days after the call.

        Args:
            before: Only calls before this seq.
            limit: Maximum number of calls.

        Returns:
            A page of calls.
        """
        result: types.CallPage = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/calls",
                query={"before": before, "limit": limit},
            )
        )
        return result

    def ring(
        self,
        room: str,
        *,
        media: types.CallMedia | None | Omitted = OMITTED,
        body: Any | Omitted = OMITTED,
        push: types.PushRequest | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
        mentions: list[str | Literal["*", "*online"]] | None | Omitted = OMITTED,
        reply_to: int | None | Omitted = OMITTED,
        report: bool | None | Omitted = OMITTED,
        from_: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Rung:
        """Ring for all members of a room.

        Begins a call: a message whose push has the kind `call`. It needs the right `urgent`. All sessions of
        all members get the event `call`, and the phones of the members ring. A room has at most one ringing
        call. If another member's call rings in the room, the request answers that call; if one of the two has
        blocked the other: `conflict`. If a call of the same user rings, the reply has that call. Both have
        `duplicate`. A room of more than 256 members: `too_large`. A room without another member: `conflict`.
        A room that stores nothing: `unsupported`. The call does not ring for a member whom the user has
        called more often than `pace.calls` in a minute. If no other member is left: `rate_limited`.

        Args:
            media: The default is `audio`. With `video`, the payload has the custom key `video`: True.
            body: The body of the call's message. Any JSON. The default is an object with the member `call`:
                the medium.
            push: The options of the push. Its kind is always `call`. `expires` is the time of the ringing: 1
                to 600 s, the default is 45.
            key: An idempotency key of the user in the room: the same key within 5 minutes sends nothing
                twice. At most 128 bytes. The default is a new key, so that the client can retry.
            mentions: The mentioned users. The relay pushes the message to members who have selected only
                mentions of the room. `*` mentions all members, and `*online` the members who are online. Both
                need the right `mentionAll`, and a room accepts one such message a minute.
            reply_to: The number of the message that this message answers, at most the room's newest.
            report: True: the sender gets `delivery` events with the result for each recipient, for the newest
                256 such messages of the room, while the room is in memory.
            from_: The caller, for API keys, like `from` of a message.
            device: The device of the caller, if the request answers another call.

        Returns:
            201: The call rings.
            200: A call rings in the room already, or the key was used before.
        """
        result: types.Rung = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls",
                body={
                    "media": media, "body": body, "push": push, "key": new_key(key), "mentions": mentions,
                    "replyTo": reply_to, "report": report, "from": from_, "device": device,
                },
                is_repeatable=True,
            )
        )
        return result

    def get_call(
        self,
        room: str,
        seq: int,
    ) -> types.Call:
        """Read a call.

        The state of a call with the users who have answered or declined. It is kept for 28 days after the
        call. A phone that a push has woken reads with its report key whether the call still rings.

        Args:
            seq: The number of the message in its room.

        Returns:
            The call.
        """
        result: types.Call = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}",
            )
        )
        return result

    def answer_call(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Call:
        """Answer a call.

        The ringing ends on all other devices of the user: their sessions get the event `call`, and the relay
        cancels or replaces the push on their phones. A user who answers on a second device gets `conflict`. A
        repeated request has no effect. All sessions without a device count as one device. In a group other
        members may still answer, and the call still rings for them. A user who has left may answer again, up
        to 16 answers for each call: else `conflict`. A call has at most 256 users: else `too_large`.

        Args:
            seq: The number of the message in its room.
            user: The user, for API keys.
            device: The device that the request acts for. Its push is not replaced, and after its answer it
                hangs up for the user. A `hangup` may name another device of the user, which has answered.
                With a report key it is the device of the key.

        Returns:
            The call.
        """
        result: types.Call = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}/answer",
                body={
                    "user": user, "device": device,
                },
            )
        )
        return result

    def decline_call(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Call:
        """Decline a call.

        The ringing ends on all devices of the user. The call is `declined` when all members have declined. A
        repeated request has no effect.

        Args:
            seq: The number of the message in its room.
            user: The user, for API keys.
            device: The device that the request acts for. Its push is not replaced, and after its answer it
                hangs up for the user. A `hangup` may name another device of the user, which has answered.
                With a report key it is the device of the key.

        Returns:
            The call.
        """
        result: types.Call = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}/decline",
                body={
                    "user": user, "device": device,
                },
            )
        )
        return result

    def hang_up_call(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Call:
        """Leave a call, or cancel the own call.

        Before an answer, the caller cancels the call, and phones show a missed call. A member who has not
        answered declines. An answered call ends when fewer than two users are left in it. A repeated request
        has no effect.

        After an answer, only the device that has answered hangs up for its user: `hangup` on another device
        of the user is a `conflict`. It is allowed if `device` names the device that has answered, if the
        answer came over HTTP without a `device`, and for a backend that names no `device`.

        Args:
            seq: The number of the message in its room.
            user: The user, for API keys.
            device: The device that the request acts for. Its push is not replaced, and after its answer it
                hangs up for the user. A `hangup` may name another device of the user, which has answered.
                With a report key it is the device of the key.

        Returns:
            The call.
        """
        result: types.Call = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}/hangup",
                body={
                    "user": user, "device": device,
                },
            )
        )
        return result

    def list_members(
        self,
        room: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.Members:
        """List the members of a room.

        The reply has every member, also those who are offline, with their presence. It works for rooms of any
        size.

        Args:
            after: Only members whose names come after this name, which is the last of the page before.
            limit: Maximum number of members.

        Returns:
            A page of members, ordered by name.
        """
        result: types.Members = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/members",
                query={"after": after, "limit": limit},
            )
        )
        return result

    def add_member(
        self,
        room: str,
        user: str,
    ) -> types.Membership | types.InvitedMember:
        """Add a user to a room.

        As `join`, but no session receives the events of the room. The relay pushes messages to the user while
        the user is away. If the room does not exist, the relay creates it; a user's token needs the right
        `create` for that. A user may add another user to an existing room: the caller then needs the role of
        a moderator or an owner, or the right `moderate`: else 403. An `invited` room accepts the user. The
        relay ends a ban of the user. Sessions of the user get the event `room`. The setting
        `rooms.invitations` decides if a user only invites another one: the reply then has `invited`. A user
        who has blocked the caller sees nothing of it, and the reply is the same. Above
        `limits.newPeoplePerDay` invited people a day: 429. A room has at most 1,000 open invitations: 413. A
        backend invites nobody. The members of a direct room do not change: 422. A room that stores no
        messages has members only while they are connected: 422.

        Args:
            user: A user's name, or `me`.

        Returns:
            201: The user is now a member, or invited.
            200: The user was already a member, or invited.
        """
        result: types.Membership | types.InvitedMember = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/members/{segment(user)}",
            )
        )
        return result

    def remove_member(
        self,
        room: str,
        user: str,
        *,
        ban: bool | None = None,
        until: int | None = None,
    ) -> None:
        """Remove a user from a room.

        As `leave`: the sessions of the user no longer receive the events of the room, and the user gets no
        pushes of the room. If the user is no member, nothing changes, unless the request bans the user. A
        user may remove another user: the caller then needs the role of a moderator or an owner, or the right
        `moderate`: else 403. A moderator removes members, and an owner also removes moderators. Only a
        backend removes an owner. With `ban`, the user cannot join again until the end of the ban, or until a
        moderator adds the user. A user who is no member can be banned, too. A room has at most 1,000 bans. If
        the last owner leaves or is removed, the member with the longest membership becomes the owner. If the
        user is only invited, the invitation ends; the user who has invited may do this without a role. The
        members of a direct room do not change: 422.

        Args:
            user: A user's name, or `me`.
            ban: True: the user cannot join again.
            until: The end of the ban in milliseconds since 1970. Needs `ban`. Default: no end.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/members/{segment(user)}",
                query={"ban": ban, "until": until},
            )
        )

    def set_role(
        self,
        room: str,
        user: str,
        role: types.RoomRole,
    ) -> types.MemberRole:
        """Change the role of a member.

        Only an owner or a backend changes roles. The last owner of a group cannot become something else: 409.
        A direct room has no roles: 422.

        Returns:
            The member has the role.
        """
        result: types.MemberRole = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/roles",
                body={
                    "user": user, "role": role,
                },
            )
        )
        return result

    def restrict_member(
        self,
        room: str,
        user: str,
        *,
        until: int | None | Omitted = OMITTED,
    ) -> types.MemberRestriction:
        """Restrict a member.

        As `restrict`: until the time, the member reads but sends nothing. Without a time, the restriction
        ends. It also ends when the member becomes an owner. A moderator restricts members, and an owner also
        moderators. Only a backend restricts an owner. A room has at most 1,000 restricted users: 413. A user
        who is no member: 404. In a direct room only a backend does so, and in a room that stores nothing
        nobody: 422.

        Args:
            until: The end of the restriction, in the future. None or absent: ends it.

        Returns:
            The member has the restriction, or none.
        """
        result: types.MemberRestriction = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/restrictions",
                body={
                    "user": user, "until": until,
                },
            )
        )
        return result

    def report_message(
        self,
        room: str,
        seq: int,
        reason: str,
        *,
        user: str | None | Omitted = OMITTED,
    ) -> types.ReportedMessage:
        """Report a message.

        As `report`. A user reports at most 50 messages in 24 hours: 429. The own message: 409. An unknown or
        deleted message: 404. If a room has 1,000 open reports: 413. In a room that stores nothing: 422.

        Args:
            seq: The number of the message in its room.
            reason: The reason, at most 1,000 bytes and not blank.
            user: The user who reports the message. An API key needs it, unless `X-Stillwire-User` names the
                user. A token must not have it.

        Returns:
            201: The report is stored.
            200: The user has reported the message before. Nothing has changed.
        """
        result: types.ReportedMessage = self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/reports",
                body={
                    "reason": reason, "user": user,
                },
            )
        )
        return result

    def list_reports(
        self,
        room: str,
        *,
        state: types.ReportState | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> types.ReportPage:
        """List the reports of messages of a room.

        The newest report is the first. The caller needs the role of a moderator or an owner, or the right
        `moderate`. A moderator does not get the reports of the own messages.

        Args:
            state: Only reports of this state.
            before: The last report of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of reports.
        """
        result: types.ReportPage = self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/reports",
                query={"state": state, "before": before, "limit": limit},
            )
        )
        return result

    def resolve_report(
        self,
        room: str,
        report: int,
        state: types.ReportState,
    ) -> types.MessageReport:
        """End a report.

        As `resolve`: the report is resolved or dismissed, or open again. The relay deletes a report 90 days
        after its end. The caller needs the role of a moderator or an owner, or the right `moderate`. A report
        of the moderator's own message: 404.

        Args:
            report: The id of the report.
            state: `resolved`: a moderator or a backend has acted. `dismissed`: there was nothing to act on.

        Returns:
            The report has the state.
        """
        result: types.MessageReport = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/reports/{segment(report)}",
                body={
                    "state": state,
                },
            )
        )
        return result

    def list_all_reports(
        self,
        *,
        state: types.ReportState | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> types.AllReportsPage:
        """List the reports of messages of all rooms.

        The newest report is the first.

        Args:
            state: Only reports of this state.
            before: The last report of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of reports.
        """
        result: types.AllReportsPage = self._send(
            Request(
                "GET",
                "/v1/reports",
                query={"state": state, "before": before, "limit": limit},
            )
        )
        return result

    def mark_read(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
    ) -> types.Read:
        """Mark messages as read.

        As `read`: the relay cancels the pushes of messages up to this one that still wait. The answer follows
        when the mark is on disk. After 503 the mark may count already, and the request can be repeated.

        Args:
            seq: All messages up to this one are read. It is at most the room's newest.
            user: The user who has read the messages, for API keys, like `from` of a message.

        Returns:
            The read mark. It never goes back.
        """
        result: types.Read = self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/read",
                body={
                    "seq": seq, "user": user,
                },
            )
        )
        return result

    def get_presence(
        self,
        user: str,
    ) -> types.Presence:
        """Read the presence of a user.

        With a token: the user of the token, users who share a room with this user, and users whom the token
        allows to watch.

        Args:
            user: A user's name, or `me`.

        Returns:
            The user's entry. The entry of an unknown user says that the user is offline.
        """
        result: types.Presence = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/presence",
            )
        )
        return result

    def list_presence(
        self,
        users: list[str],
    ) -> types.ListPresenceResult:
        """Read the presence of many users.

        An API key requests at most 1,000 users, and gets their whole state. A token requests at most 256
        users. If it may not see one of them, the whole request is 403. A user whom the relay does not know is
        offline, as in the request for one user.

        Returns:
            An entry for each user, in the order of the request.
        """
        result: types.ListPresenceResult = self._send(
            Request(
                "POST",
                "/v1/presence",
                body={
                    "users": users,
                },
                is_repeatable=True,
            )
        )
        return result

    def report_focus(
        self,
        user: str,
        is_focused: bool | None,
        *,
        authorization: Literal[
    "authorized", "denied", "restricted", "notDetermined", "notSupported", None,
] | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
        at: int | None | Omitted = OMITTED,
        number: int | None | Omitted = OMITTED,
        source: Literal["intent", "center", "manual", None] | Omitted = OMITTED,
    ) -> types.FocusResult:
        """Report a device's Focus.

        The handler of `INShareFocusStatusIntent` in an app's extension sends this request. A True counts
        immediately, and the users whom the user permits see it. A False after a True counts 3 s later,
        because a device reports a False between two Focus modes. A True without a renewal becomes unknown
        after 12 h. Every state of a device becomes unknown after 7 days without a report.

        Args:
            user: A user's name, or `me`.
            is_focused: True if notifications are silenced. None: the state is unknown.
            authorization: The permission of the app to read the Focus. Each value but `authorized` (the
                default) makes the state unknown.
            device: The device that reports. The default is `default`.
            at: The time of the change. The default is now. A time more than 60 s ahead counts as now.
            number: A counter of the device, or a time in milliseconds. The relay does not apply a report
                whose number is not above the newest. It takes a number of 13 digits for a time. If the newest
                number is a time more than 60 s ahead, it gives way to a number that is not.
            source: The source of the state.

        Returns:
            The combined state of the user's devices.
        """
        result: types.FocusResult = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/focus",
                body={
                    "isFocused": is_focused, "authorization": authorization, "device": device, "at": at,
                    "number": number, "source": source,
                },
            )
        )
        return result

    def report_filter(
        self,
        user: str,
        active: bool,
        *,
        allow: list[str] | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
        at: int | None | Omitted = OMITTED,
        number: int | None | Omitted = OMITTED,
    ) -> types.FilterResult:
        """Report the filter of a device's Focus.

        The app reports here the values of its `SetFocusFilterIntent` and of its
        `notificationFilterPredicate`. A filter without a renewal ends after 12 h.

        Args:
            user: A user's name, or `me`.
            active: False: no filter is active, and all pushes pass.
            allow: The criteria that the filter lets pass, each of at most 128 bytes. A push without criteria
                passes every filter.
            device: The device that reports. The default is `default`.
            at: The time of the change. The default is now. A time more than 60 s ahead counts as now.
            number: A counter of the device, which orders its reports of filters.

        Returns:
            `applied` is True if the report was the newest of the device.
        """
        result: types.FilterResult = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/filter",
                body={
                    "active": active, "allow": allow, "device": device, "at": at, "number": number,
                },
            )
        )
        return result

    def get_preferences(
        self,
        user: str,
    ) -> types.Preferences:
        """Read the preferences of a user.

        Args:
            user: A user's name, or `me`.

        Returns:
            All preferences. Those that were never set have their defaults.
        """
        result: types.Preferences = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/preferences",
            )
        )
        return result

    def set_preferences(
        self,
        user: str,
        *,
        rooms: dict[str, types.RoomWish | None] | None | Omitted = OMITTED,
        on_focus: Literal["deliver", "passive", "hold", None] | Omitted = OMITTED,
        quiet_hours: types.QuietHours | None | Omitted = OMITTED,
        break_through: types.BreakThrough | None | Omitted = OMITTED,
        quiet_calls: bool | None | Omitted = OMITTED,
        quiet_time_sensitive: bool | None | Omitted = OMITTED,
        push_unread_after: int | None | Omitted = OMITTED,
        share_focus: Literal["none", "rooms", "watchers", None] | Omitted = OMITTED,
        share_online: Literal["none", "rooms", "watchers", None] | Omitted = OMITTED,
    ) -> types.Preferences:
        """Set the preferences of a user.

        Absent fields do not change. An unknown field is an error, with a suggestion. The relay decides
        waiting pushes again with the new preferences. If more than `limits.roomsPerUser` rooms have a setting
        of their own, the relay answers 413.

        Args:
            user: A user's name, or `me`.
            rooms: Settings of rooms, by name. None removes the settings of a room. Rooms that are not named
                do not change. At most `limits.roomsPerUser` rooms can have settings.
            on_focus: The behaviour for pushes to a device whose Focus silences it or filters them out.
                `deliver` (the default): the relay pushes as usual, and the phone decides. `passive`: the
                relay pushes without a sound. `hold`: the relay pushes later. With `passive` and `hold`,
                Allowed People do not break through.
            quiet_hours: The hours in which pushes are silent or wait. None: none.
            break_through: The messages that break through quiet hours, but not through a Focus. It replaces
                the earlier value. None: none do.
            quiet_calls: True: calls do not break through quiet hours, in both modes. A call that still rings
                at their end begins to ring on the device. For each other call the device gets one "Missed
                call", and the caller sees `missed`. A call at the level `critical` always rings.
            quiet_time_sensitive: True: messages at the level `timeSensitive` do not break through quiet
                hours.
            push_unread_after: The relay pushes a message that an active session has received if the user has
                not read it this many seconds after the message. None (the default): it does not.
            share_focus: The users who see that a Focus is on. `none`: nobody. `rooms` (the default): users
                who share a room. `watchers`: also users who watch.
            share_online: The users who see whether the user is online. The default is `watchers`.

        Returns:
            All preferences, with the changes.
        """
        result: types.Preferences = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/preferences",
                body={
                    "rooms": rooms, "onFocus": on_focus, "quietHours": quiet_hours, "breakThrough":
                    break_through, "quietCalls": quiet_calls, "quietTimeSensitive": quiet_time_sensitive,
                    "pushUnreadAfter": push_unread_after, "shareFocus": share_focus, "shareOnline":
                    share_online,
                },
            )
        )
        return result

    def set_status(
        self,
        user: str,
        *,
        text: str | None | Omitted = OMITTED,
        emoji: str | None | Omitted = OMITTED,
        until: int | None | Omitted = OMITTED,
    ) -> types.SetStatusResult:
        """Set the status that presence shows.

        Replaces the whole status. Without `text` and `emoji` the user has no status any more. An empty text
        counts as absent. Users who may see whether the user is online get a `presence` event, also at
        `until`.

        Args:
            user: A user's name, or `me`.
            until: The time at which the relay ends the status. A time in the past is an error.

        Returns:
            The status from now on.
        """
        result: types.SetStatusResult = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/status",
                body={
                    "text": text, "emoji": emoji, "until": until,
                },
            )
        )
        return result

    def list_users(
        self,
        *,
        prefix: str | None = None,
        online: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListUsersResult:
        """List users.

        The list has the users who have connected, have a device or were ever a member. It is sorted by name,
        so a user who exists from the first page to the last is in exactly one page. With `online` the list
        has the users whom the store knows as online, in the order in which the relay has first seen them. The
        store follows within about a second, and `online` of an entry is the present state. In a cluster the
        leader answers.

        Args:
            prefix: Only users whose names begin with this text.
            online: True: only users who are online.
            after: The last user of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the users.
        """
        result: types.ListUsersResult = self._send(
            Request(
                "GET",
                "/v1/users",
                query={"prefix": prefix, "online": online, "after": after, "limit": limit},
            )
        )
        return result

    def list_all_sessions(
        self,
        *,
        prefix: str | None = None,
        room: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListAllSessionsResult:
        """List the open sessions of all users.

        The order of the list is stable: a session that is open from the first page to the last is in exactly
        one page. A session that opens or ends meanwhile may be missing. After a restart of the relay, begin
        with the first page again. The relay keeps no addresses of clients. In a cluster the leader has all
        sessions, and answers.

        Args:
            prefix: Only sessions of users whose names begin with this text.
            room: Only sessions that have joined this room.
            after: The last session of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the sessions.
        """
        result: types.ListAllSessionsResult = self._send(
            Request(
                "GET",
                "/v1/sessions",
                query={"prefix": prefix, "room": room, "after": after, "limit": limit},
            )
        )
        return result

    def set_profile(
        self,
        user: str,
        *,
        name: str | None | Omitted = OMITTED,
        avatar: str | None | Omitted = OMITTED,
        avatar_sha256: str | None | Omitted = OMITTED,
        handle: str | None | Omitted = OMITTED,
        handle_type: str | None | Omitted = OMITTED,
    ) -> types.Profile:
        """Set the profile of a user.

        An absent field does not change, and None deletes it. A new `handle` without `handleType` deletes the
        stored type, and a new `avatar` without `avatarSHA256` deletes the stored hash. Both can also be set
        or deleted alone. If a later token or `hello` of the user has these fields, it replaces them.

        Args:
            user: A user's name, or `me`.
            name: The name that other users see. One line of at most 256 bytes.
            avatar: An https URL of a picture that other users see, at most 2,048 bytes.
            avatar_sha256: The SHA-256 hash of the picture, in lower-case hexadecimal digits. Needs an
                `avatar`, in the request or stored before. Phones compare the picture with it.
            handle: An address of the user, such as a telephone number. Phones match Allowed People of a Focus
                by it. Only phones receive it. Without it they receive the user name. One line of at most 256
                bytes.
            handle_type: `phoneNumber`, `emailAddress`, or a word of the app, in one line. Needs a `handle`,
                in the request or stored before.

        Returns:
            The stored profile, with the changes.
        """
        result: types.Profile = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}",
                body={
                    "name": name, "avatar": avatar, "avatarSHA256": avatar_sha256, "handle": handle,
                    "handleType": handle_type,
                },
            )
        )
        return result

    def erase_user(
        self,
        user: str,
        *,
        messages: Literal["delete", "anonymize"],
    ) -> types.Erasure:
        """Erase a user.

        Closes the user's sessions with 4506, and gives the user's row a pseudonym at once. From then on the
        name belongs to nobody. In the background the relay then erases, in slices that continue after a
        restart: the profile, the restrictions, devices, report keys, Focus, filters, preferences, blocks in
        both directions, memberships, bans, direct rooms, reactions, reports by the user and about the
        messages of the user, devices in calls, responses, pushes and idempotency keys. Entries of the audit
        log get the pseudonym. `GET /v1/erasures/{id}` shows the end.

        Until no row has the name any more, sessions and requests with the name are `unavailable` (503).
        Afterwards a request with it creates a new user. A repeated request returns the erasure in progress;
        with another value of `messages`, it is a `conflict`.

        Restrictions end, too, because they contain the name. A backend that must keep the person out issues
        no more tokens, and sets the restrictions again after the erasure. Texts of other users that contain
        the name stay.

        Args:
            user: A user's name, or `me`.
            messages: `delete`: the messages of the user lose their contents, as if the sender had deleted
                them. `anonymize`: they stay, and their sender is a pseudonym.

        Returns:
            The erasure has begun.
        """
        result: types.Erasure = self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}",
                query={"messages": messages},
            )
        )
        return result

    def list_invitations(
        self,
        user: str,
        *,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.InvitationPage:
        """List the open invitations of a user.

        The newest invitation is the first. An invitation is an offer of a membership by another user. It
        counts in no limit of rooms, and gives no message and no event of the room. A user has at most
        `limits.invitations` open invitations: a new one ends the oldest.

        Args:
            user: A user's name, or `me`.
            limit: The maximum number of invitations.
            after: The `next` of the page before.

        Returns:
            A page of invitations.
        """
        result: types.InvitationPage = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/invitations",
                query={"limit": limit, "after": after},
            )
        )
        return result

    def decline_invitation(
        self,
        user: str,
        room: str,
    ) -> None:
        """Decline an invitation.

        The inviter gets no event. Without an invitation, nothing changes.

        Args:
            user: A user's name, or `me`.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/invitations/{segment(room)}",
            )
        )

    def accept_invitation(
        self,
        user: str,
        room: str,
    ) -> types.Membership:
        """Accept an invitation.

        The user becomes a member. A user's token needs the right `join`, and has the rights of a member in
        the room. The user has read the messages before the invitation, and not those after it. Without an
        invitation: 404. If a limit forbids the membership: 413, and the invitation stays.

        Args:
            user: A user's name, or `me`.

        Returns:
            201: The user is now a member.
            200: The user was already a member.
        """
        result: types.Membership = self._send(
            Request(
                "POST",
                f"/v1/users/{segment(user)}/invitations/{segment(room)}/accept",
                is_repeatable=True,
            )
        )
        return result

    def list_rooms(
        self,
        user: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        since: str | None = None,
        preview: Literal["text", "none"] | None = None,
    ) -> types.InboxPage:
        """List the rooms of a user.

        The rooms of a user that store messages, those with the newest activity first. Rooms move while a
        client reads the pages. After the oldest room, the pages therefore continue with the rooms that have
        changed since the list began. Each room is in at least one page, and a later entry of a room replaces
        an earlier one. With `since`, the reply has only the rooms that have changed after this position. If
        the changes are not complete, because the list has lost a room or the relay was restored from a
        backup, the reply has `reset` and the list begins again. A page omits rooms in which the caller lacks
        the right `join`.

        Args:
            user: A user's name, or `me`.
            limit: Maximum number of rooms.
            after: The `next` of the page before. Excludes `since`.
            since: The `position` of an earlier page: only later changes.
            preview: `none`: without texts of messages.

        Returns:
            A page of the rooms.
        """
        result: types.InboxPage = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/rooms",
                query={"limit": limit, "after": after, "since": since, "preview": preview},
            )
        )
        return result

    def open_direct_room(
        self,
        user: str,
        other: str,
    ) -> types.Room:
        """Open the room of two people.

        Either person may open it first, and both get the same room, even at the same moment. Only the two
        people are members. A person who has left becomes a member again. A backend makes both people members
        at once. The setting `rooms.invitations` decides if a user's token only invites the other person. The
        reply does not say whether the name exists or has blocked the caller. Above `limits.newPeoplePerDay`
        invited people a day: 429. A new room needs the rights `join` and `create` for rooms named `direct.…`.

        Args:
            user: A user's name, or `me`.
            other: Another user's name.

        Returns:
            201: The room was created.
            200: The room existed.
        """
        result: types.Room = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/direct/{segment(other)}",
            )
        )
        return result

    def block_user(
        self,
        user: str,
        other: str,
    ) -> types.Blocked:
        """Block another user.

        The blocked user sees the blocker as an unknown user, and causes no push. The relay does not notify
        the blocked user. Messages of the blocked user in shared rooms still arrive. Invitations by the
        blocked user end, and later ones are hidden.

        Args:
            user: A user's name, or `me`.
            other: Another user's name.

        Returns:
            The user is blocked.
        """
        result: types.Blocked = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/blocks/{segment(other)}",
            )
        )
        return result

    def unblock_user(
        self,
        user: str,
        other: str,
    ) -> None:
        """Unblock another user.

        Args:
            user: A user's name, or `me`.
            other: Another user's name.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/blocks/{segment(other)}",
            )
        )

    def export_user(
        self,
        user: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> str:
        """Export everything about a user.

        A page of JSON Lines. Each line is an object with a `type`: `profile`, `access`, `preferences`,
        `focus`, `filter`, `device`, `block`, `membership`, `invitation` (that the user has got or made),
        `ban`, `restriction` (in a room that the user has left), `message`, `reactions`, `report` (of a
        message, by the user), `call`, `response`, `push` or `audit` (an action of a backend about the user).
        The last line is {`type`: `next`, `cursor`}, and the next page has this `cursor`; or it is {`type`:
        `end`}. A page has at most `limit` lines of entries, and about 1 MiB of messages. It may have fewer
        lines, or none, although others follow.

        The export has no push tokens and no keys, because others could use them. An `audit` has neither the
        name of the API key nor the address. Each page has the state at the time of its request. A `message`
        with `from` is a notification that the user has received. After an erasure has started, requests for
        further pages are 404, and a new export has no entries.

        Args:
            user: A user's name, or `me`.
            cursor: The cursor of the page before. Without it the export begins.
            limit: The maximum number of entries of the page. The first page has all entries that belong to no
                room, even if they are more.
        """
        result: str = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/export",
                query={"cursor": cursor, "limit": limit},
                is_text=True,
            )
        )
        return result

    def get_erasure(
        self,
        id: str,
    ) -> types.Erasure:
        """Read the state of an erasure.

        The relay keeps a finished erasure for 30 days. It contains nothing about the user.

        An erasure has no failed state, because an abandoned one would leave rows with the name. After a
        failed attempt, the relay tries again after 1 to 60 seconds, and `failure` has the last error until an
        attempt succeeds.

        Returns:
            The state.
        """
        result: types.Erasure = self._send(
            Request(
                "GET",
                f"/v1/erasures/{segment(id)}",
            )
        )
        return result

    def list_sessions(
        self,
        user: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListSessionsResult:
        """List the open sessions of a user.

        The relay keeps no addresses of clients.

        Args:
            user: A user's name, or `me`.
            after: The last session of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the sessions, in the order of their ids.
        """
        result: types.ListSessionsResult = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/sessions",
                query={"after": after, "limit": limit},
            )
        )
        return result

    def list_devices(
        self,
        user: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListDevicesResult:
        """List the devices of a user.

        The reply contains no push tokens, because anybody with the token could push to the device.

        Args:
            user: A user's name, or `me`.
            after: The last device of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the devices, in the order of their ids.
        """
        result: types.ListDevicesResult = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/devices",
                query={"after": after, "limit": limit},
            )
        )
        return result

    def get_device(
        self,
        user: str,
        device: str,
    ) -> types.Device:
        """Read a device.

        Args:
            user: A user's name, or `me`.

        Returns:
            The device, without its tokens.
        """
        result: types.Device = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/devices/{segment(device)}",
            )
        )
        return result

    def register_device(
        self,
        user: str,
        device: str,
        token: str | types.RegisterDeviceToken | None,
        *,
        platform: Literal["apns", "webpush", "http", "simulator", None] | Omitted = OMITTED,
        app: str | None | Omitted = OMITTED,
        environment: Literal["production", "sandbox", None] | Omitted = OMITTED,
        topic: str | None | Omitted = OMITTED,
        voip_token: str | None | Omitted = OMITTED,
        criteria: str | None | Omitted = OMITTED,
        settings: types.DeviceSettings | None | Omitted = OMITTED,
        locale: str | None | Omitted = OMITTED,
        time_zone: str | None | Omitted = OMITTED,
    ) -> types.Device:
        """Register a device for pushes.

        A token belongs to one app, and to one device of each of at most 8 users: the accounts of a phone.
        Another device of the user with the same token ends. A registration beyond 8 users ends the account
        that registered longest ago, with the warning `account_ended`. `settings` count for all accounts of
        the phone, and a new account gets the newest Focus and filter of the phone. A registration replaces
        the device's earlier one, and forgets the newest numbers of its reports. A None token forgets the
        device, as DELETE does.

        The reply contains a new `reportKey`: a credential that does not expire, for the app's extensions on
        this device. The 4 newest keys of a device are valid, so that an extension can use a former key until
        the app has saved the new one. The relay stores only hashes of the keys. It revokes the keys together
        with the device.

        Args:
            user: A user's name, or `me`.
            token: The address of the device at the gateway. `simulator`: a name. `apns`: pairs of hexadecimal
                digits. `http`: the pushkey. `webpush`: the subscription of the browser. None forgets the
                device.
            platform: Required with a token. `apns` needs an app with a credential in the configuration,
                `http` an app with a Matrix gateway, and `webpush` a key of the relay (`webPush.keyFile`).
            app: The bundle id of the app. If the configuration names apps, it must be one of them.
            environment: Apple's service that knows the token. If it is absent, the relay finds it out.
            topic: One of the app's bundle ids, if the app has several.
            voip_token: The token for calls. A call reaches the device even if alerts are off. At most 4,096
                bytes.
            criteria: The label of the account, which Focus filters match. At most 128 bytes.
            locale: The language and the region of the device's texts. At most 64 bytes.
            time_zone: The name of the time zone of the device, such as Europe/Berlin, for quiet hours without
                a `timeZone`. If the relay does not know the name, the reply has a warning.

        Returns:
            The device was registered, or forgotten if the token is None.
        """
        result: types.Device = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/devices/{segment(device)}",
                body={
                    "token": token, "platform": platform, "app": app, "environment": environment, "topic":
                    topic, "voipToken": voip_token, "criteria": criteria, "settings": settings, "locale":
                    locale, "timeZone": time_zone,
                },
            )
        )
        return result

    def forget_device(
        self,
        user: str,
        device: str,
    ) -> None:
        """Forget a device.

        A report key forgets its own device, also after the tokens of its user have ended, and while its user
        is suspended. The key ends with the device, so that a repeated request gets 401.

        Args:
            user: A user's name, or `me`.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/devices/{segment(device)}",
            )
        )

    def revoke_report_keys(
        self,
        user: str,
        device: str,
    ) -> None:
        """Revoke a device's report keys.

        Revokes every `reportKey` of the device. The device stays registered. Its next registration returns a
        new key.

        Args:
            user: A user's name, or `me`.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/devices/{segment(device)}/report-keys",
            )
        )

    def revoke_all_report_keys(
        self,
        user: str,
    ) -> None:
        """Revoke the report keys of all devices of a user.

        A backend uses this when a user logs out, or after a leak. The devices stay registered. The next
        registration of each device returns a new key. A user without keys is no error.

        Args:
            user: A user's name, or `me`.
        """
        self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/report-keys",
            )
        )

    def decide(
        self,
        room: str,
        from_: str,
        user: str,
        *,
        mentions: list[str | Literal["*", "*online"]] | None | Omitted = OMITTED,
        reply_to: int | None | Omitted = OMITTED,
        push: bool | types.PushRequest | None | Omitted = OMITTED,
        report: bool | None | Omitted = OMITTED,
        rights: list[Literal[
    "join", "send", "push", "urgent", "history", "presence", "create", "moderate", "mentionAll",
]] | Omitted = OMITTED,
    ) -> types.Decisions:
        """Predict the decision about a message.

        The relay decides as if it accepted the message now, for each device of the recipient, or once if the
        recipient has no device. It sends and stores nothing.

        Args:
            from_: The sender.
            user: The recipient.
            mentions: The mentioned users, `*` for all members, or `*online` for the members who are online.
            reply_to: The number of the message that this message answers, at most the room's newest.
            push: The options of the pushes. False: no pushes. In rooms that store no messages: 422
                `unsupported`.
            report: Has no effect here.
            rights: The sender's rights in the room, as a token would give them. The default is the first of
                these: the rights of the sender's sessions, those of the room's pattern (`can`), all rights
                but `moderate` and `mentionAll`, and with tokens also without `urgent`.

        Returns:
            The decision for each device, and the facts that it is based on.
        """
        result: types.Decisions = self._send(
            Request(
                "POST",
                "/v1/decisions",
                body={
                    "room": room, "from": from_, "user": user, "mentions": mentions, "replyTo": reply_to,
                    "push": push, "report": report, "rights": rights,
                },
                is_repeatable=True,
            )
        )
        return result

    def lint_push(
        self,
        payload: Any,
        *,
        headers: dict[str, str | float | None] | None | Omitted = OMITTED,
        lenient: bool | None | Omitted = OMITTED,
    ) -> types.LintReport:
        """Find faults in a push.

        The relay sends and stores nothing. If the payload is a string, the linter reads it as a text, so that
        it also finds faults of the text.

        Args:
            payload: The payload: its text, of at most 65,536 bytes, or the JSON value itself.
            headers: The headers of the push, with Apple's names. Without headers the linter checks the
                payload only.
            lenient: True: the linter makes the corrections that are certain. The corrected errors become
                warnings, and the answer has the corrected payload.

        Returns:
            The findings. A correct push has none.
        """
        result: types.LintReport = self._send(
            Request(
                "POST",
                "/v1/pushes/lint",
                body={
                    "payload": payload, "headers": headers, "lenient": lenient,
                },
                is_repeatable=True,
            )
        )
        return result

    def get_categories(
        self,
    ) -> types.Categories:
        """Read the categories.

        Clients declare these categories to the system at each launch. The reply has the texts in all
        languages. A client takes the text in the first of its languages that exists, or else `default`.

        Returns:
            All categories. Version 0 means that they were never set.
        """
        result: types.Categories = self._send(
            Request(
                "GET",
                "/v1/categories",
            )
        )
        return result

    def set_categories(
        self,
        categories: list[types.Category],
        *,
        version: int | None | Omitted = OMITTED,
    ) -> types.Categories:
        """Replace the categories.

        The request replaces all categories. A push can name only these categories. A notification whose
        category was removed has only the actions of the system. The same request again changes nothing. All
        categories together have at most 256 KiB.

        Args:
            categories: The id of each category is unique. So is the id of each action, over all categories.
            version: The version that the request replaces. If the version of the relay differs: 409.

        Returns:
            The categories, with the changes.
        """
        result: types.Categories = self._send(
            Request(
                "PUT",
                "/v1/categories",
                body={
                    "version": version, "categories": categories,
                },
            )
        )
        return result

    def respond(
        self,
        id: str,
        action: str,
        *,
        user: str | None | Omitted = OMITTED,
        text: str | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
    ) -> types.Responded:
        """Respond to a notification.

        The id is `notification` of the payload's `communication` or `push`, or `call` of a VoIP push. The
        action belongs to the present category of the notification, or is an action of the system:
        `com.apple.UNNotificationDefaultActionIdentifier` or
        `com.apple.UNNotificationDismissActionIdentifier`.

        For each message a user has one response by an action of the category, from any device, and one by
        each action of the system. The same response again is a duplicate, and another response is 409. The
        relay accepts a response until 3 days after the push has ended.

        The sender of the message gets an event `response`. The text of an action with `posts` becomes a
        message of the user, {`text`}, which answers the message of the notification and needs the right
        `send`. With a report key, the rights are those of the user's newest token.

        Args:
            id: The id of a push.
            user: The user whose notification it is. An API key needs it, unless `X-Stillwire-User` names the
                user. A token must not have it.
            text: The text, for an action with `textInput`, with a maximum size in bytes. An action with
                `posts` needs a text that is not blank.
            key: A second response to the same message with the same key is a duplicate, whatever its other
                fields are. The default is a new key, so that the client can retry.

        Returns:
            201: The response was stored. The relay sends the event as soon as the sender has a session.
            200: A duplicate: the relay had already stored this response. It sends no second event.
        """
        result: types.Responded = self._send(
            Request(
                "POST",
                f"/v1/notifications/{segment(id)}/responses",
                body={
                    "user": user, "action": action, "text": text, "key": new_key(key),
                },
                is_repeatable=True,
            )
        )
        return result

    def receive_push(
        self,
        id: str,
        *,
        receipt: str | Omitted = OMITTED,
    ) -> types.ReceivePushResult:
        """Confirm that a push arrived.

        The notification service extension of an app sends this request. It authenticates with the receipt
        from the payload, or with the `reportKey` of the device. A repeated request changes nothing. A receipt
        is valid for 3 days. The body has at most 1,024 bytes.

        Args:
            id: The id of a push.
            receipt: `receipt` of the payload's `communication` or `push`. A request with a report key does
                not need it.

        Returns:
            The relay has stored that the push arrived.
        """
        result: types.ReceivePushResult = self._send(
            Request(
                "POST",
                f"/v1/notifications/{segment(id)}/received",
                body={
                    "receipt": receipt,
                },
                is_repeatable=True,
            )
        )
        return result

    def notify_user(
        self,
        user: str,
        push: Literal[True] | types.PushRequest,
        *,
        from_: str | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
    ) -> types.PostedNotification:
        """Send a push without a message.

        The relay decides as for a message, without the rules about rooms: read and received messages, levels
        of rooms, and waits. Blocks, Focus, quiet hours, devices, levels and entitlements apply. The relay
        queues one push for each device before it answers. Such a push never becomes part of a digest. Its
        payload has no `message`. Without `thread` the push is in the app's own group. Without `badge` the
        badge does not change. With `collapse` `room`, a device shows only the newest notification of the
        user.

        If `push` has a `title`, and `from` is no user of an app, the push is a plain notification, whose ids
        are in `push` of the payload. Otherwise it is a communication notification in a conversation with the
        sender.

        Args:
            user: A user's name, or `me`.
            push: True is the same as an empty object.
            from_: The sender. In open mode the default is the user that `X-Stillwire-User` names.
            key: Makes a repeated request harmless, for 5 minutes, for each `from` and user. The default is a
                new key, so that the client can retry.

        Returns:
            201: The pushes were stored.
            200: The relay received the same `key` within the last 5 minutes. The reply has the pushes of the
                first request that are still stored.
        """
        result: types.PostedNotification = self._send(
            Request(
                "POST",
                f"/v1/users/{segment(user)}/notifications",
                body={
                    "from": from_, "push": push, "key": new_key(key),
                },
                is_repeatable=True,
            )
        )
        return result

    def list_pushes(
        self,
        *,
        state: types.PushState | None = None,
        user: str | None = None,
        note: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListPushesResult:
        """List pushes, newest first.

        The list does not contain the facts of the decisions; `GET /v1/pushes/{id}` has them. The relay keeps
        finished pushes for 3 days.

        Args:
            state: Only pushes in this state. `dead` are dead letters: a gateway refused them permanently.
            user: Only pushes to this user.
            note: Only dead letters with this `note`, such as `DeviceTokenNotForTopic`. Needs the state
                `dead`.
            after: Only pushes older than this push, which is the last push of the page before.
            limit: Maximum number of pushes.

        Returns:
            A page of pushes.
        """
        result: types.ListPushesResult = self._send(
            Request(
                "GET",
                "/v1/pushes",
                query={"state": state, "user": user, "note": note, "after": after, "limit": limit},
            )
        )
        return result

    def retry_pushes(
        self,
        *,
        user: str | None | Omitted = OMITTED,
        note: str | None | Omitted = OMITTED,
        after: str | None | Omitted = OMITTED,
        limit: int | None | Omitted = OMITTED,
    ) -> types.RetryPushesResult:
        """Retry dead letters.

        The relay decides each push again, as if all waits had ended, the newest push first. It may hold a
        push, or cancel it because the message was read meanwhile. The answer lists the dead letters of one
        page in this order. For the next page, `after` is the last push of the answer. Pushes to one device
        may arrive as one digest. The audit log has an entry for each push that the relay retries, as for a
        retry of one push.

        Args:
            user: Only pushes to this user.
            note: Only dead letters with this `note`, such as `DeviceTokenNotForTopic`.
            after: Only pushes older than this push, which is the last push of the page before.
            limit: Maximum number of dead letters.

        Returns:
            The pushes of the page.
        """
        result: types.RetryPushesResult = self._send(
            Request(
                "POST",
                "/v1/pushes/retry",
                body={
                    "user": user, "note": note, "after": after, "limit": limit,
                },
            )
        )
        return result

    def explain_push(
        self,
        id: str,
    ) -> types.Push:
        """Explain a push.

        The id is `notification` of the payload's `communication` or `push`, and `apns-id`. The relay keeps
        finished pushes for 3 days.

        Args:
            id: The id of a push.

        Returns:
            The push.
        """
        result: types.Push = self._send(
            Request(
                "GET",
                f"/v1/pushes/{segment(id)}",
            )
        )
        return result

    def retry_push(
        self,
        id: str,
    ) -> types.Push:
        """Retry a dead letter.

        The relay decides the push again, as if all waits had ended. It may hold the push, or cancel it
        because the message was read meanwhile. A repeated request changes nothing. The relay answers
        `conflict` if the push is not a dead letter and was never retried, if it has expired, or if its device
        or its message no longer exists.

        Args:
            id: The id of a push.

        Returns:
            The push, in its present state.
        """
        result: types.Push = self._send(
            Request(
                "POST",
                f"/v1/pushes/{segment(id)}/retry",
                is_repeatable=True,
            )
        )
        return result

    def get_access(
        self,
        user: str,
    ) -> types.Access:
        """Read the restrictions of a user.

        Args:
            user: A user's name, or `me`.

        Returns:
            The restrictions.
        """
        result: types.Access = self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/access",
            )
        )
        return result

    def set_access(
        self,
        user: str,
        *,
        suspended: bool | None | Omitted = OMITTED,
        until: int | None | Omitted = OMITTED,
        reason: str | None | Omitted = OMITTED,
        not_before: int | None | Omitted = OMITTED,
    ) -> types.Access:
        """Suspend a user, or revoke the user's tokens.

        Replaces all restrictions of the user, a suspension and `notBefore` together; an empty object ends
        them. The user need not be known yet.

        A suspension closes the user's sessions with 4507, after which clients do not reconnect. Until its
        end, the relay refuses the user's `hello`, HTTP requests and report keys with `forbidden`, and sends
        the user no pushes. The memberships stay.

        `notBefore` revokes the tokens that were issued earlier: the relay closes their sessions with 4002,
        after which clients connect with a new token, and refuses these tokens.

        Args:
            user: A user's name, or `me`.
            suspended: Without this field the user is not suspended.
            until: The end of the suspension, in the future. Without it the suspension has no end.
            reason: A text for the user, at most 112 bytes. The close frame and the errors contain it.
            not_before: The relay refuses tokens whose `iat` is earlier, or that have none. It compares whole
                seconds, so a token of the same second is accepted. `unsupported` in open mode.

        Returns:
            The restrictions, and the number of closed sessions.
        """
        result: types.Access = self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/access",
                body={
                    "suspended": suspended, "until": until, "reason": reason, "notBefore": not_before,
                },
            )
        )
        return result

    def disconnect_user(
        self,
        user: str,
        *,
        reason: str | None | Omitted = OMITTED,
    ) -> types.DisconnectUserResult:
        """End all sessions of a user.

        The relay closes the sessions with 4506. Clients then do not reconnect by themselves.

        Args:
            user: A user's name, or `me`.
            reason: The `reason` of `bye`, at most 123 bytes.

        Returns:
            The number of closed sessions.
        """
        result: types.DisconnectUserResult = self._send(
            Request(
                "POST",
                f"/v1/users/{segment(user)}/disconnect",
                body={
                    "reason": reason,
                },
            )
        )
        return result

    def list_audit_entries(
        self,
        *,
        key: str | None = None,
        operation: str | None = None,
        room: str | None = None,
        user: str | None = None,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> types.AuditPage:
        """List the actions of backends.

        The audit log has an entry for each change that an API key has requested, except the frequent ones
        that the configuration does not name (`audit.operations`), for each export of a user, and for refused
        requests. An entry names the room and the users of the request, and has no text or other content.

        Without `after` the newest entry is the first. A collector reads all entries in their order: it begins
        with `after=0`, and continues with the number of the newest entry that it has. A page with several
        filters may have fewer entries than `limit`, or none, although others follow: `next` is then the value
        of `before` or `after` for the next page. The relay keeps entries for the time and up to the number of
        the configuration (`audit.retention`, `audit.entries`).

        The log is for administrators: in a scope, `read` does not permit this operation. A key whose scope
        has `users` must name one of them in `user`. The entries then lack the other users.

        Args:
            key: Only requests with the API key of this name.
            operation: Only requests of this operation, such as `removeMember`.
            room: Only requests about this room.
            user: Only requests that name this user.
            before: Only entries with a lower number, the newest first. Not together with `after`.
            after: Only entries with a higher number, the oldest first.
            limit: Maximum number of entries.

        Returns:
            A page of the audit log.
        """
        result: types.AuditPage = self._send(
            Request(
                "GET",
                "/v1/audit",
                query={"key": key, "operation": operation, "room": room, "user": user, "before": before, "after": after, "limit": limit},
            )
        )
        return result

    def get_lock_screen(
        self,
        token: str,
    ) -> types.LockScreen:
        """Read a simulated phone's lock screen.

        Args:
            token: The token that the device was registered with.

        Returns:
            The notifications, oldest first. `isReachable` is True if pushes reach the phone.
        """
        result: types.LockScreen = self._send(
            Request(
                "GET",
                f"/v1/simulator/devices/{segment(token)}",
            )
        )
        return result

    def set_reachable(
        self,
        token: str,
        is_reachable: bool,
    ) -> types.Reachability:
        """Make a simulated phone reachable or unreachable.

        While a phone is unreachable, its pushes fail and are `retrying`, as if no server answered. When it is
        reachable again, they arrive within 5 s. The relay retries a push that changes a shown notification
        for half a minute only. The lock screen does not change. After a restart of the relay, every phone is
        reachable.

        Args:
            token: The token that the device was registered with.
            is_reachable: True if pushes reach the phone.

        Returns:
            The phone, in its present state.
        """
        result: types.Reachability = self._send(
            Request(
                "PUT",
                f"/v1/simulator/devices/{segment(token)}",
                body={
                    "isReachable": is_reachable,
                },
            )
        )
        return result

    def get_web_push_key(
        self,
    ) -> types.GetWebPushKeyResult:
        """Read the public key for Web Push.

        Returns:
            The public key of the relay. None: the relay does not push to browsers.
        """
        result: types.GetWebPushKeyResult = self._send(
            Request(
                "GET",
                "/v1/webpush",
            )
        )
        return result

    def is_live(
        self,
    ) -> types.IsLiveResult:
        """Check that the process runs.

        Returns:
            The process runs.
        """
        result: types.IsLiveResult = self._send(
            Request(
                "GET",
                "/live",
                is_of_node=True,
            )
        )
        return result

    def is_ready(
        self,
    ) -> types.Readiness:
        """Check that the relay accepts clients.

        Returns:
            The relay accepts clients, whether or not the store is available now. The store is not damaged.
        """
        result: types.Readiness = self._send(
            Request(
                "GET",
                "/ready",
                also_expected={503},
                is_of_node=True,
            )
        )
        return result

    def confirm_clock(
        self,
    ) -> types.ConfirmClockResult:
        """Confirm that the relay's clock is right.

        If somebody sets the clock of the machine by much, or if the relay was stopped for long, the relay
        deletes nothing by its age for a time, because the clock may be wrong. This request ends the wait, and
        the relay deletes data by its age again. Check the time of the relay's machine first, because deleted
        data is lost.

        Returns:
            `waited` is True if this request has ended a wait.
        """
        result: types.ConfirmClockResult = self._send(
            Request(
                "POST",
                "/v1/clock/confirm",
            )
        )
        return result

    def get_cluster(
        self,
    ) -> types.ClusterNode:
        """Read the state of a cluster's node.

        Each node answers for itself, also a leader that waits for a proof that it leads. In open mode, only
        clients on the node's own machine may read it. A relay without a cluster answers 404.

        Returns:
            The role of the node, and the leader that it knows.
        """
        result: types.ClusterNode = self._send(
            Request(
                "GET",
                "/v1/cluster",
                is_of_node=True,
            )
        )
        return result

    def step_down(
        self,
    ) -> types.ClusterNode:
        """Let another node take over from the leader.

        The leader closes its sessions and becomes a follower. A node that does not lead answers 409. The
        answer does not wait for the log of the cluster. After it, the leader waits at most 1 second for the
        entry of the audit log. A leader that waits for a proof that it leads writes no entry.

        Returns:
            The leader steps down now.
        """
        result: types.ClusterNode = self._send(
            Request(
                "POST",
                "/v1/cluster/step-down",
                is_of_node=True,
                codes_of_standby={"conflict"},
            )
        )
        return result

    def publish_snapshot(
        self,
    ) -> types.ClusterNode:
        """Publish a snapshot of the node's data.

        The node copies its data in the background, at most once in 10 s. The log then drops the records that
        the snapshot contains.

        Returns:
            The node has begun.
        """
        result: types.ClusterNode = self._send(
            Request(
                "POST",
                "/v1/cluster/snapshot",
                is_of_node=True,
            )
        )
        return result

    def read_metrics(
        self,
    ) -> str:
        """Read the metrics.

        The caller needs an API key, unless `metrics.open` is set or the relay is in open mode.
        """
        result: str = self._send(
            Request(
                "GET",
                "/metrics",
                is_text=True,
                is_of_node=True,
            )
        )
        return result

    def get_open_api(
        self,
    ) -> dict[str, Any]:
        """Read this document.

        Returns:
            This document.
        """
        result: dict[str, Any] = self._send(
            Request(
                "GET",
                "/openapi.json",
            )
        )
        return result

    def get_async_api(
        self,
    ) -> dict[str, Any]:
        """Read the description of sessions.

        Returns:
            An AsyncAPI 3.0 document.
        """
        result: dict[str, Any] = self._send(
            Request(
                "GET",
                "/asyncapi.json",
            )
        )
        return result


class AsyncOperations(ABC):
    """The operations of an asynchronous client."""

    @abstractmethod
    async def _send(self, request: Request) -> Any: ...

    async def list_all_rooms(
        self,
        *,
        prefix: str | None = None,
        recent: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListAllRoomsResult:
        """List all rooms.

        The list has the stored rooms, and the rooms that store nothing while they have members. It is sorted
        by name, so a room that exists from the first page to the last is in exactly one page. A room that is
        created or deleted meanwhile may be missing. With `recent` the answer is the only page, and `more` is
        False. In a cluster the leader answers.

        Args:
            prefix: Only rooms whose names begin with this text.
            recent: True: only the stored rooms with the newest messages, the newest first. Not together with
                `prefix` or `after`.
            after: The last room of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the rooms.
        """
        result: types.ListAllRoomsResult = await self._send(
            Request(
                "GET",
                "/v1/rooms",
                query={"prefix": prefix, "recent": recent, "after": after, "limit": limit},
            )
        )
        return result

    async def create_room(
        self,
        *,
        room: str | None | Omitted = OMITTED,
        owner: str | None | Omitted = OMITTED,
        kind: types.RoomKind | None | Omitted = OMITTED,
        title: str | None | Omitted = OMITTED,
        avatar: str | None | Omitted = OMITTED,
        metadata: dict[str, Any] | None | Omitted = OMITTED,
        read_only: bool | None | Omitted = OMITTED,
        members: list[str] | None | Omitted = OMITTED,
        join: types.RoomJoin | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
    ) -> types.CreatedRoom:
        """Create a room.

        The user becomes the owner. The caller needs the rights `join` and `create` in the room. A backend
        makes the other users members at once; their sessions get the event `room`. The setting
        `rooms.invitations` decides which of them a user's token only invites. The reply does not say whether
        a name exists or has blocked the caller. Above `limits.newPeoplePerDay` invited people a day: 429. A
        room has at most 1,000 open invitations: 413. A room of this name must not exist: 409. Without `room`
        the relay makes a name that begins with `group.` or `direct.`, so that patterns of the configuration
        match it.

        Args:
            owner: The first owner. An API key needs it, unless `X-Stillwire-User` names the user. A token
                must not have it.
            kind: Default: `group`. `direct` needs exactly one other member, and has no `room`, title or
                picture.
            read_only: True: only moderators and owners send. Not for a direct room.
            members: The other first members, and the users to invite.
            join: Default: `open`. A direct room is always `invited`.
            key: An idempotency key of the user: the same key within 5 minutes creates nothing twice. At most
                128 bytes. The default is a new key, so that the client can retry.

        Returns:
            201: The room was created.
            200: The relay received the same key within the last 5 minutes, or the direct room exists. Nothing
                was created.
        """
        result: types.CreatedRoom = await self._send(
            Request(
                "POST",
                "/v1/rooms",
                body={
                    "room": room, "owner": owner, "kind": kind, "title": title, "avatar": avatar,
                    "metadata": metadata, "readOnly": read_only, "members": members, "join": join, "key":
                    new_key(key),
                },
                is_repeatable=True,
            )
        )
        return result

    async def get_room(
        self,
        room: str,
    ) -> types.Room:
        """Read the record of a room.

        A user must be a member, and needs the right `join`.

        Returns:
            The record.
        """
        result: types.Room = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}",
            )
        )
        return result

    async def update_room(
        self,
        room: str,
        *,
        title: str | None | Omitted = OMITTED,
        avatar: str | None | Omitted = OMITTED,
        metadata: dict[str, Any] | None | Omitted = OMITTED,
        read_only: bool | None | Omitted = OMITTED,
        version: int | None | Omitted = OMITTED,
    ) -> types.Room:
        """Change the title, the picture and the metadata of a room, and open or close sending.

        Absent fields do not change. In a group the caller needs the role of an owner or a moderator, or the
        right `moderate`. In a direct room both people may change the metadata, and nothing else. All sessions
        of the members get the event `room`, except the one that made the change. If the record has another
        version than the request: 409, or 412 with `If-Match`.

        Args:
            title: None removes the title.
            avatar: None removes the picture.
            metadata: Replaces the whole object. None removes it.
            read_only: True: only moderators and owners send. Not for a direct room.
            version: The relay changes only this version of the record.

        Returns:
            The record, with the changes.
        """
        result: types.Room = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}",
                body={
                    "title": title, "avatar": avatar, "metadata": metadata, "readOnly": read_only,
                    "version": version,
                },
            )
        )
        return result

    async def delete_room(
        self,
        room: str,
    ) -> None:
        """Delete a room.

        Only an owner or a backend deletes a group, and only a backend a direct room. The room is gone at
        once, with its history, its pushes and its memberships, and its name is free. All sessions of the
        members get the event `room`, except the one that deleted it. The relay deletes the stored rows in the
        background.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}",
            )
        )

    async def list_messages(
        self,
        room: str,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> types.History:
        """Read the history of a room.

        Without `before` and `after`, the reply has the newest messages. A request has at most one of the two.

        Args:
            before: Only messages older than this message.
            after: Only messages newer than this message.
            limit: Maximum number of messages, at most `limits.history`.

        Returns:
            A page of messages, oldest first. The bodies have at most 256 KiB together.
        """
        result: types.History = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/messages",
                query={"before": before, "after": after, "limit": limit},
            )
        )
        return result

    async def send_message(
        self,
        room: str,
        body: Any,
        *,
        from_: str | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
        mentions: list[str | Literal["*", "*online"]] | None | Omitted = OMITTED,
        reply_to: int | None | Omitted = OMITTED,
        push: bool | types.PushRequest | None | Omitted = OMITTED,
        report: bool | None | Omitted = OMITTED,
    ) -> types.Sent:
        """Send a message.

        The relay pushes the message to members who are away.

        Args:
            body: Any JSON. The relay passes it on byte for byte.
            from_: The sender. An API key needs it, unless `X-Stillwire-User` names the user. A token must not
                have it.
            key: An idempotency key of the user in the room: the same key within 5 minutes sends nothing
                twice. At most 128 bytes. The default is a new key, so that the client can retry.
            mentions: The mentioned users. The relay pushes the message to members who have selected only
                mentions of the room. `*` mentions all members, and `*online` the members who are online. Both
                need the right `mentionAll`, and a room accepts one such message a minute.
            reply_to: The number of the message that this message answers, at most the room's newest.
            push: The options of the pushes. False: the relay stores the message, and the message is neither
                pushed nor unread. In rooms that store no messages: `unsupported`.
            report: True: the sender gets `delivery` events with the result for each recipient, for the newest
                256 such messages of the room, while the room is in memory.

        Returns:
            201: The message was stored and shown to the room. In a room that stores no messages, it was shown
                only.
            200: The relay received the same key within the last 5 minutes. The reply has the `seq` and the
                `time` of that message. Nothing was sent.
        """
        result: types.Sent = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/messages",
                body={
                    "body": body, "from": from_, "key": new_key(key), "mentions": mentions, "replyTo":
                    reply_to, "push": push, "report": report,
                },
                is_repeatable=True,
            )
        )
        return result

    async def edit_message(
        self,
        room: str,
        seq: int,
        body: Any,
        *,
        from_: str | None | Omitted = OMITTED,
    ) -> types.Edited:
        """Edit a message.

        As `edit`: only the sender of the message may edit it. A push that is not sent yet gets the new text.
        In a room that stores no messages: 422 `unsupported`.

        Args:
            seq: The number of the message in its room.
            body: Any JSON. The relay passes it on byte for byte.
            from_: The user who edits, for API keys, like `from` of a message.

        Returns:
            The relay stored the new body, and sent the event `edited`.
        """
        result: types.Edited = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}",
                body={
                    "body": body, "from": from_,
                },
            )
        )
        return result

    async def delete_message(
        self,
        room: str,
        seq: int,
    ) -> None:
        """Delete a message.

        As `delete`: the caller is the sender of the message, or has the right `moderate`. API keys have this
        right. The relay cancels pushes that it has not sent yet. In a room that stores no messages: 422
        `unsupported`.

        Args:
            seq: The number of the message in its room.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}",
            )
        )

    async def react(
        self,
        room: str,
        seq: int,
        key: str,
        *,
        from_: str | None | Omitted = OMITTED,
    ) -> types.Reacted:
        """React to a message.

        As `react`: a user has at most one reaction with a key to a message. A message has at most 20
        different keys and 1,000 reactions: 413. In a room that stores no messages: 422 `unsupported`.

        Args:
            seq: The number of the message in its room.
            key: The key of the reaction, percent-encoded.
            from_: The user. Only for API keys.

        Returns:
            The message has the reaction. If it is new, the relay sent the event `reactions`.
        """
        result: types.Reacted = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/reactions/{segment(key)}",
                body={
                    "from": from_,
                },
            )
        )
        return result

    async def unreact(
        self,
        room: str,
        seq: int,
        key: str,
        *,
        from_: str | None = None,
    ) -> types.Reacted:
        """Remove a reaction.

        As `unreact`. In a room that stores no messages: 422 `unsupported`.

        Args:
            seq: The number of the message in its room.
            key: The key of the reaction, percent-encoded.
            from_: The user. Only for API keys, which can also send the header `X-Stillwire-User`.

        Returns:
            The message has no such reaction. If it had one, the relay sent the event `reactions`.
        """
        result: types.Reacted = await self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/reactions/{segment(key)}",
                query={"from": from_},
            )
        )
        return result

    async def notify_anyway(
        self,
        room: str,
        seq: int,
        *,
        users: list[str] | None | Omitted = OMITTED,
        from_: str | None | Omitted = OMITTED,
    ) -> types.Notified:
        """Notify silenced recipients of a message anyway.

        As `notify`: the sender of a message notifies each recipient at most once, within 10 minutes of the
        message. The relay answers 403 to a later request, and to a request in the name of a user who has not
        sent the message. In `users`, the relay ignores names that were not in `quiet`, and users whom an
        earlier request has notified. A hold ends, and the relay pushes at the level of the message with
        `notifyAnyway` in the payload. More than 5 requests a minute for the same recipient are 429.

        Args:
            seq: The number of the message in its room.
            users: Some of the users in `quiet`. Absent: all of them. The relay ignores names that were not in
                `quiet`, and users whom an earlier request has notified.
            from_: The sender of the message, for API keys, like `from` of a message.

        Returns:
            `push` is the number of recipients who are notified for the first time. It includes those who need
            no push any more.
        """
        result: types.Notified = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/notify",
                body={
                    "users": users, "from": from_,
                },
            )
        )
        return result

    async def list_pins(
        self,
        room: str,
    ) -> types.PinList:
        """List the pinned messages of a room.

        The newest pin is the first.

        Returns:
            The pinned messages.
        """
        result: types.PinList = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/pins",
            )
        )
        return result

    async def pin_message(
        self,
        room: str,
        seq: int,
    ) -> types.Pinned:
        """Pin a message.

        As `pin`: in a group the caller needs the role of a moderator or an owner, or the right `moderate`. A
        room has at most 50 pinned messages: 413. An unknown or deleted message: 404. In a room that stores
        nothing: 422.

        Args:
            seq: The number of the message in its room.

        Returns:
            The message is pinned. If the pin is new, the relay sent the event `pinned`.
        """
        result: types.Pinned = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/pins/{segment(seq)}",
            )
        )
        return result

    async def unpin_message(
        self,
        room: str,
        seq: int,
    ) -> types.Pinned:
        """End the pin of a message.

        As `unpin`.

        Args:
            seq: The number of the message in its room.

        Returns:
            The message is not pinned. If it was, the relay sent the event `pinned`.
        """
        result: types.Pinned = await self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/pins/{segment(seq)}",
            )
        )
        return result

    async def list_calls(
        self,
        room: str,
        *,
        before: int | None = None,
        limit: int | None = None,
    ) -> types.CallPage:
        """List the calls of a room.

        The calls of a room, newest first. They are kept for 28 days after the call.

        Args:
            before: Only calls before this seq.
            limit: Maximum number of calls.

        Returns:
            A page of calls.
        """
        result: types.CallPage = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/calls",
                query={"before": before, "limit": limit},
            )
        )
        return result

    async def ring(
        self,
        room: str,
        *,
        media: types.CallMedia | None | Omitted = OMITTED,
        body: Any | Omitted = OMITTED,
        push: types.PushRequest | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
        mentions: list[str | Literal["*", "*online"]] | None | Omitted = OMITTED,
        reply_to: int | None | Omitted = OMITTED,
        report: bool | None | Omitted = OMITTED,
        from_: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Rung:
        """Ring for all members of a room.

        Begins a call: a message whose push has the kind `call`. It needs the right `urgent`. All sessions of
        all members get the event `call`, and the phones of the members ring. A room has at most one ringing
        call. If another member's call rings in the room, the request answers that call; if one of the two has
        blocked the other: `conflict`. If a call of the same user rings, the reply has that call. Both have
        `duplicate`. A room of more than 256 members: `too_large`. A room without another member: `conflict`.
        A room that stores nothing: `unsupported`. The call does not ring for a member whom the user has
        called more often than `pace.calls` in a minute. If no other member is left: `rate_limited`.

        Args:
            media: The default is `audio`. With `video`, the payload has the custom key `video`: True.
            body: The body of the call's message. Any JSON. The default is an object with the member `call`:
                the medium.
            push: The options of the push. Its kind is always `call`. `expires` is the time of the ringing: 1
                to 600 s, the default is 45.
            key: An idempotency key of the user in the room: the same key within 5 minutes sends nothing
                twice. At most 128 bytes. The default is a new key, so that the client can retry.
            mentions: The mentioned users. The relay pushes the message to members who have selected only
                mentions of the room. `*` mentions all members, and `*online` the members who are online. Both
                need the right `mentionAll`, and a room accepts one such message a minute.
            reply_to: The number of the message that this message answers, at most the room's newest.
            report: True: the sender gets `delivery` events with the result for each recipient, for the newest
                256 such messages of the room, while the room is in memory.
            from_: The caller, for API keys, like `from` of a message.
            device: The device of the caller, if the request answers another call.

        Returns:
            201: The call rings.
            200: A call rings in the room already, or the key was used before.
        """
        result: types.Rung = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls",
                body={
                    "media": media, "body": body, "push": push, "key": new_key(key), "mentions": mentions,
                    "replyTo": reply_to, "report": report, "from": from_, "device": device,
                },
                is_repeatable=True,
            )
        )
        return result

    async def get_call(
        self,
        room: str,
        seq: int,
    ) -> types.Call:
        """Read a call.

        The state of a call with the users who have answered or declined. It is kept for 28 days after the
        call. A phone that a push has woken reads with its report key whether the call still rings.

        Args:
            seq: The number of the message in its room.

        Returns:
            The call.
        """
        result: types.Call = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}",
            )
        )
        return result

    async def answer_call(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Call:
        """Answer a call.

        The ringing ends on all other devices of the user: their sessions get the event `call`, and the relay
        cancels or replaces the push on their phones. A user who answers on a second device gets `conflict`. A
        repeated request has no effect. All sessions without a device count as one device. In a group other
        members may still answer, and the call still rings for them. A user who has left may answer again, up
        to 16 answers for each call: else `conflict`. A call has at most 256 users: else `too_large`.

        Args:
            seq: The number of the message in its room.
            user: The user, for API keys.
            device: The device that the request acts for. Its push is not replaced, and after its answer it
                hangs up for the user. A `hangup` may name another device of the user, which has answered.
                With a report key it is the device of the key.

        Returns:
            The call.
        """
        result: types.Call = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}/answer",
                body={
                    "user": user, "device": device,
                },
            )
        )
        return result

    async def decline_call(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Call:
        """Decline a call.

        The ringing ends on all devices of the user. The call is `declined` when all members have declined. A
        repeated request has no effect.

        Args:
            seq: The number of the message in its room.
            user: The user, for API keys.
            device: The device that the request acts for. Its push is not replaced, and after its answer it
                hangs up for the user. A `hangup` may name another device of the user, which has answered.
                With a report key it is the device of the key.

        Returns:
            The call.
        """
        result: types.Call = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}/decline",
                body={
                    "user": user, "device": device,
                },
            )
        )
        return result

    async def hang_up_call(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
    ) -> types.Call:
        """Leave a call, or cancel the own call.

        Before an answer, the caller cancels the call, and phones show a missed call. A member who has not
        answered declines. An answered call ends when fewer than two users are left in it. A repeated request
        has no effect.

        After an answer, only the device that has answered hangs up for its user: `hangup` on another device
        of the user is a `conflict`. It is allowed if `device` names the device that has answered, if the
        answer came over HTTP without a `device`, and for a backend that names no `device`.

        Args:
            seq: The number of the message in its room.
            user: The user, for API keys.
            device: The device that the request acts for. Its push is not replaced, and after its answer it
                hangs up for the user. A `hangup` may name another device of the user, which has answered.
                With a report key it is the device of the key.

        Returns:
            The call.
        """
        result: types.Call = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/calls/{segment(seq)}/hangup",
                body={
                    "user": user, "device": device,
                },
            )
        )
        return result

    async def list_members(
        self,
        room: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.Members:
        """List the members of a room.

        The reply has every member, also those who are offline, with their presence. It works for rooms of any
        size.

        Args:
            after: Only members whose names come after this name, which is the last of the page before.
            limit: Maximum number of members.

        Returns:
            A page of members, ordered by name.
        """
        result: types.Members = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/members",
                query={"after": after, "limit": limit},
            )
        )
        return result

    async def add_member(
        self,
        room: str,
        user: str,
    ) -> types.Membership | types.InvitedMember:
        """Add a user to a room.

        As `join`, but no session receives the events of the room. The relay pushes messages to the user while
        the user is away. If the room does not exist, the relay creates it; a user's token needs the right
        `create` for that. A user may add another user to an existing room: the caller then needs the role of
        a moderator or an owner, or the right `moderate`: else 403. An `invited` room accepts the user. The
        relay ends a ban of the user. Sessions of the user get the event `room`. The setting
        `rooms.invitations` decides if a user only invites another one: the reply then has `invited`. A user
        who has blocked the caller sees nothing of it, and the reply is the same. Above
        `limits.newPeoplePerDay` invited people a day: 429. A room has at most 1,000 open invitations: 413. A
        backend invites nobody. The members of a direct room do not change: 422. A room that stores no
        messages has members only while they are connected: 422.

        Args:
            user: A user's name, or `me`.

        Returns:
            201: The user is now a member, or invited.
            200: The user was already a member, or invited.
        """
        result: types.Membership | types.InvitedMember = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/members/{segment(user)}",
            )
        )
        return result

    async def remove_member(
        self,
        room: str,
        user: str,
        *,
        ban: bool | None = None,
        until: int | None = None,
    ) -> None:
        """Remove a user from a room.

        As `leave`: the sessions of the user no longer receive the events of the room, and the user gets no
        pushes of the room. If the user is no member, nothing changes, unless the request bans the user. A
        user may remove another user: the caller then needs the role of a moderator or an owner, or the right
        `moderate`: else 403. A moderator removes members, and an owner also removes moderators. Only a
        backend removes an owner. With `ban`, the user cannot join again until the end of the ban, or until a
        moderator adds the user. A user who is no member can be banned, too. A room has at most 1,000 bans. If
        the last owner leaves or is removed, the member with the longest membership becomes the owner. If the
        user is only invited, the invitation ends; the user who has invited may do this without a role. The
        members of a direct room do not change: 422.

        Args:
            user: A user's name, or `me`.
            ban: True: the user cannot join again.
            until: The end of the ban in milliseconds since 1970. Needs `ban`. Default: no end.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/rooms/{segment(room)}/members/{segment(user)}",
                query={"ban": ban, "until": until},
            )
        )

    async def set_role(
        self,
        room: str,
        user: str,
        role: types.RoomRole,
    ) -> types.MemberRole:
        """Change the role of a member.

        Only an owner or a backend changes roles. The last owner of a group cannot become something else: 409.
        A direct room has no roles: 422.

        Returns:
            The member has the role.
        """
        result: types.MemberRole = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/roles",
                body={
                    "user": user, "role": role,
                },
            )
        )
        return result

    async def restrict_member(
        self,
        room: str,
        user: str,
        *,
        until: int | None | Omitted = OMITTED,
    ) -> types.MemberRestriction:
        """Restrict a member.

        As `restrict`: until the time, the member reads but sends nothing. Without a time, the restriction
        ends. It also ends when the member becomes an owner. A moderator restricts members, and an owner also
        moderators. Only a backend restricts an owner. A room has at most 1,000 restricted users: 413. A user
        who is no member: 404. In a direct room only a backend does so, and in a room that stores nothing
        nobody: 422.

        Args:
            until: The end of the restriction, in the future. None or absent: ends it.

        Returns:
            The member has the restriction, or none.
        """
        result: types.MemberRestriction = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/restrictions",
                body={
                    "user": user, "until": until,
                },
            )
        )
        return result

    async def report_message(
        self,
        room: str,
        seq: int,
        reason: str,
        *,
        user: str | None | Omitted = OMITTED,
    ) -> types.ReportedMessage:
        """Report a message.

        As `report`. A user reports at most 50 messages in 24 hours: 429. The own message: 409. An unknown or
        deleted message: 404. If a room has 1,000 open reports: 413. In a room that stores nothing: 422.

        Args:
            seq: The number of the message in its room.
            reason: The reason, at most 1,000 bytes and not blank.
            user: The user who reports the message. An API key needs it, unless `X-Stillwire-User` names the
                user. A token must not have it.

        Returns:
            201: The report is stored.
            200: The user has reported the message before. Nothing has changed.
        """
        result: types.ReportedMessage = await self._send(
            Request(
                "POST",
                f"/v1/rooms/{segment(room)}/messages/{segment(seq)}/reports",
                body={
                    "reason": reason, "user": user,
                },
            )
        )
        return result

    async def list_reports(
        self,
        room: str,
        *,
        state: types.ReportState | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> types.ReportPage:
        """List the reports of messages of a room.

        The newest report is the first. The caller needs the role of a moderator or an owner, or the right
        `moderate`. A moderator does not get the reports of the own messages.

        Args:
            state: Only reports of this state.
            before: The last report of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of reports.
        """
        result: types.ReportPage = await self._send(
            Request(
                "GET",
                f"/v1/rooms/{segment(room)}/reports",
                query={"state": state, "before": before, "limit": limit},
            )
        )
        return result

    async def resolve_report(
        self,
        room: str,
        report: int,
        state: types.ReportState,
    ) -> types.MessageReport:
        """End a report.

        As `resolve`: the report is resolved or dismissed, or open again. The relay deletes a report 90 days
        after its end. The caller needs the role of a moderator or an owner, or the right `moderate`. A report
        of the moderator's own message: 404.

        Args:
            report: The id of the report.
            state: `resolved`: a moderator or a backend has acted. `dismissed`: there was nothing to act on.

        Returns:
            The report has the state.
        """
        result: types.MessageReport = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/reports/{segment(report)}",
                body={
                    "state": state,
                },
            )
        )
        return result

    async def list_all_reports(
        self,
        *,
        state: types.ReportState | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> types.AllReportsPage:
        """List the reports of messages of all rooms.

        The newest report is the first.

        Args:
            state: Only reports of this state.
            before: The last report of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of reports.
        """
        result: types.AllReportsPage = await self._send(
            Request(
                "GET",
                "/v1/reports",
                query={"state": state, "before": before, "limit": limit},
            )
        )
        return result

    async def mark_read(
        self,
        room: str,
        seq: int,
        *,
        user: str | None | Omitted = OMITTED,
    ) -> types.Read:
        """Mark messages as read.

        As `read`: the relay cancels the pushes of messages up to this one that still wait. The answer follows
        when the mark is on disk. After 503 the mark may count already, and the request can be repeated.

        Args:
            seq: All messages up to this one are read. It is at most the room's newest.
            user: The user who has read the messages, for API keys, like `from` of a message.

        Returns:
            The read mark. It never goes back.
        """
        result: types.Read = await self._send(
            Request(
                "PUT",
                f"/v1/rooms/{segment(room)}/read",
                body={
                    "seq": seq, "user": user,
                },
            )
        )
        return result

    async def get_presence(
        self,
        user: str,
    ) -> types.Presence:
        """Read the presence of a user.

        With a token: the user of the token, users who share a room with this user, and users whom the token
        allows to watch.

        Args:
            user: A user's name, or `me`.

        Returns:
            The user's entry. The entry of an unknown user says that the user is offline.
        """
        result: types.Presence = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/presence",
            )
        )
        return result

    async def list_presence(
        self,
        users: list[str],
    ) -> types.ListPresenceResult:
        """Read the presence of many users.

        An API key requests at most 1,000 users, and gets their whole state. A token requests at most 256
        users. If it may not see one of them, the whole request is 403. A user whom the relay does not know is
        offline, as in the request for one user.

        Returns:
            An entry for each user, in the order of the request.
        """
        result: types.ListPresenceResult = await self._send(
            Request(
                "POST",
                "/v1/presence",
                body={
                    "users": users,
                },
                is_repeatable=True,
            )
        )
        return result

    async def report_focus(
        self,
        user: str,
        is_focused: bool | None,
        *,
        authorization: Literal[
    "authorized", "denied", "restricted", "notDetermined", "notSupported", None,
] | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
        at: int | None | Omitted = OMITTED,
        number: int | None | Omitted = OMITTED,
        source: Literal["intent", "center", "manual", None] | Omitted = OMITTED,
    ) -> types.FocusResult:
        """Report a device's Focus.

        The handler of `INShareFocusStatusIntent` in an app's extension sends this request. A True counts
        immediately, and the users whom the user permits see it. A False after a True counts 3 s later,
        because a device reports a False between two Focus modes. A True without a renewal becomes unknown
        after 12 h. Every state of a device becomes unknown after 7 days without a report.

        Args:
            user: A user's name, or `me`.
            is_focused: True if notifications are silenced. None: the state is unknown.
            authorization: The permission of the app to read the Focus. Each value but `authorized` (the
                default) makes the state unknown.
            device: The device that reports. The default is `default`.
            at: The time of the change. The default is now. A time more than 60 s ahead counts as now.
            number: A counter of the device, or a time in milliseconds. The relay does not apply a report
                whose number is not above the newest. It takes a number of 13 digits for a time. If the newest
                number is a time more than 60 s ahead, it gives way to a number that is not.
            source: The source of the state.

        Returns:
            The combined state of the user's devices.
        """
        result: types.FocusResult = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/focus",
                body={
                    "isFocused": is_focused, "authorization": authorization, "device": device, "at": at,
                    "number": number, "source": source,
                },
            )
        )
        return result

    async def report_filter(
        self,
        user: str,
        active: bool,
        *,
        allow: list[str] | None | Omitted = OMITTED,
        device: str | None | Omitted = OMITTED,
        at: int | None | Omitted = OMITTED,
        number: int | None | Omitted = OMITTED,
    ) -> types.FilterResult:
        """Report the filter of a device's Focus.

        The app reports here the values of its `SetFocusFilterIntent` and of its
        `notificationFilterPredicate`. A filter without a renewal ends after 12 h.

        Args:
            user: A user's name, or `me`.
            active: False: no filter is active, and all pushes pass.
            allow: The criteria that the filter lets pass, each of at most 128 bytes. A push without criteria
                passes every filter.
            device: The device that reports. The default is `default`.
            at: The time of the change. The default is now. A time more than 60 s ahead counts as now.
            number: A counter of the device, which orders its reports of filters.

        Returns:
            `applied` is True if the report was the newest of the device.
        """
        result: types.FilterResult = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/filter",
                body={
                    "active": active, "allow": allow, "device": device, "at": at, "number": number,
                },
            )
        )
        return result

    async def get_preferences(
        self,
        user: str,
    ) -> types.Preferences:
        """Read the preferences of a user.

        Args:
            user: A user's name, or `me`.

        Returns:
            All preferences. Those that were never set have their defaults.
        """
        result: types.Preferences = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/preferences",
            )
        )
        return result

    async def set_preferences(
        self,
        user: str,
        *,
        rooms: dict[str, types.RoomWish | None] | None | Omitted = OMITTED,
        on_focus: Literal["deliver", "passive", "hold", None] | Omitted = OMITTED,
        quiet_hours: types.QuietHours | None | Omitted = OMITTED,
        break_through: types.BreakThrough | None | Omitted = OMITTED,
        quiet_calls: bool | None | Omitted = OMITTED,
        quiet_time_sensitive: bool | None | Omitted = OMITTED,
        push_unread_after: int | None | Omitted = OMITTED,
        share_focus: Literal["none", "rooms", "watchers", None] | Omitted = OMITTED,
        share_online: Literal["none", "rooms", "watchers", None] | Omitted = OMITTED,
    ) -> types.Preferences:
        """Set the preferences of a user.

        Absent fields do not change. An unknown field is an error, with a suggestion. The relay decides
        waiting pushes again with the new preferences. If more than `limits.roomsPerUser` rooms have a setting
        of their own, the relay answers 413.

        Args:
            user: A user's name, or `me`.
            rooms: Settings of rooms, by name. None removes the settings of a room. Rooms that are not named
                do not change. At most `limits.roomsPerUser` rooms can have settings.
            on_focus: The behaviour for pushes to a device whose Focus silences it or filters them out.
                `deliver` (the default): the relay pushes as usual, and the phone decides. `passive`: the
                relay pushes without a sound. `hold`: the relay pushes later. With `passive` and `hold`,
                Allowed People do not break through.
            quiet_hours: The hours in which pushes are silent or wait. None: none.
            break_through: The messages that break through quiet hours, but not through a Focus. It replaces
                the earlier value. None: none do.
            quiet_calls: True: calls do not break through quiet hours, in both modes. A call that still rings
                at their end begins to ring on the device. For each other call the device gets one "Missed
                call", and the caller sees `missed`. A call at the level `critical` always rings.
            quiet_time_sensitive: True: messages at the level `timeSensitive` do not break through quiet
                hours.
            push_unread_after: The relay pushes a message that an active session has received if the user has
                not read it this many seconds after the message. None (the default): it does not.
            share_focus: The users who see that a Focus is on. `none`: nobody. `rooms` (the default): users
                who share a room. `watchers`: also users who watch.
            share_online: The users who see whether the user is online. The default is `watchers`.

        Returns:
            All preferences, with the changes.
        """
        result: types.Preferences = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/preferences",
                body={
                    "rooms": rooms, "onFocus": on_focus, "quietHours": quiet_hours, "breakThrough":
                    break_through, "quietCalls": quiet_calls, "quietTimeSensitive": quiet_time_sensitive,
                    "pushUnreadAfter": push_unread_after, "shareFocus": share_focus, "shareOnline":
                    share_online,
                },
            )
        )
        return result

    async def set_status(
        self,
        user: str,
        *,
        text: str | None | Omitted = OMITTED,
        emoji: str | None | Omitted = OMITTED,
        until: int | None | Omitted = OMITTED,
    ) -> types.SetStatusResult:
        """Set the status that presence shows.

        Replaces the whole status. Without `text` and `emoji` the user has no status any more. An empty text
        counts as absent. Users who may see whether the user is online get a `presence` event, also at
        `until`.

        Args:
            user: A user's name, or `me`.
            until: The time at which the relay ends the status. A time in the past is an error.

        Returns:
            The status from now on.
        """
        result: types.SetStatusResult = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/status",
                body={
                    "text": text, "emoji": emoji, "until": until,
                },
            )
        )
        return result

    async def list_users(
        self,
        *,
        prefix: str | None = None,
        online: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListUsersResult:
        """List users.

        The list has the users who have connected, have a device or were ever a member. It is sorted by name,
        so a user who exists from the first page to the last is in exactly one page. With `online` the list
        has the users whom the store knows as online, in the order in which the relay has first seen them. The
        store follows within about a second, and `online` of an entry is the present state. In a cluster the
        leader answers.

        Args:
            prefix: Only users whose names begin with this text.
            online: True: only users who are online.
            after: The last user of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the users.
        """
        result: types.ListUsersResult = await self._send(
            Request(
                "GET",
                "/v1/users",
                query={"prefix": prefix, "online": online, "after": after, "limit": limit},
            )
        )
        return result

    async def list_all_sessions(
        self,
        *,
        prefix: str | None = None,
        room: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListAllSessionsResult:
        """List the open sessions of all users.

        The order of the list is stable: a session that is open from the first page to the last is in exactly
        one page. A session that opens or ends meanwhile may be missing. After a restart of the relay, begin
        with the first page again. The relay keeps no addresses of clients. In a cluster the leader has all
        sessions, and answers.

        Args:
            prefix: Only sessions of users whose names begin with this text.
            room: Only sessions that have joined this room.
            after: The last session of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the sessions.
        """
        result: types.ListAllSessionsResult = await self._send(
            Request(
                "GET",
                "/v1/sessions",
                query={"prefix": prefix, "room": room, "after": after, "limit": limit},
            )
        )
        return result

    async def set_profile(
        self,
        user: str,
        *,
        name: str | None | Omitted = OMITTED,
        avatar: str | None | Omitted = OMITTED,
        avatar_sha256: str | None | Omitted = OMITTED,
        handle: str | None | Omitted = OMITTED,
        handle_type: str | None | Omitted = OMITTED,
    ) -> types.Profile:
        """Set the profile of a user.

        An absent field does not change, and None deletes it. A new `handle` without `handleType` deletes the
        stored type, and a new `avatar` without `avatarSHA256` deletes the stored hash. Both can also be set
        or deleted alone. If a later token or `hello` of the user has these fields, it replaces them.

        Args:
            user: A user's name, or `me`.
            name: The name that other users see. One line of at most 256 bytes.
            avatar: An https URL of a picture that other users see, at most 2,048 bytes.
            avatar_sha256: The SHA-256 hash of the picture, in lower-case hexadecimal digits. Needs an
                `avatar`, in the request or stored before. Phones compare the picture with it.
            handle: An address of the user, such as a telephone number. Phones match Allowed People of a Focus
                by it. Only phones receive it. Without it they receive the user name. One line of at most 256
                bytes.
            handle_type: `phoneNumber`, `emailAddress`, or a word of the app, in one line. Needs a `handle`,
                in the request or stored before.

        Returns:
            The stored profile, with the changes.
        """
        result: types.Profile = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}",
                body={
                    "name": name, "avatar": avatar, "avatarSHA256": avatar_sha256, "handle": handle,
                    "handleType": handle_type,
                },
            )
        )
        return result

    async def erase_user(
        self,
        user: str,
        *,
        messages: Literal["delete", "anonymize"],
    ) -> types.Erasure:
        """Erase a user.

        Closes the user's sessions with 4506, and gives the user's row a pseudonym at once. From then on the
        name belongs to nobody. In the background the relay then erases, in slices that continue after a
        restart: the profile, the restrictions, devices, report keys, Focus, filters, preferences, blocks in
        both directions, memberships, bans, direct rooms, reactions, reports by the user and about the
        messages of the user, devices in calls, responses, pushes and idempotency keys. Entries of the audit
        log get the pseudonym. `GET /v1/erasures/{id}` shows the end.

        Until no row has the name any more, sessions and requests with the name are `unavailable` (503).
        Afterwards a request with it creates a new user. A repeated request returns the erasure in progress;
        with another value of `messages`, it is a `conflict`.

        Restrictions end, too, because they contain the name. A backend that must keep the person out issues
        no more tokens, and sets the restrictions again after the erasure. Texts of other users that contain
        the name stay.

        Args:
            user: A user's name, or `me`.
            messages: `delete`: the messages of the user lose their contents, as if the sender had deleted
                them. `anonymize`: they stay, and their sender is a pseudonym.

        Returns:
            The erasure has begun.
        """
        result: types.Erasure = await self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}",
                query={"messages": messages},
            )
        )
        return result

    async def list_invitations(
        self,
        user: str,
        *,
        limit: int | None = None,
        after: str | None = None,
    ) -> types.InvitationPage:
        """List the open invitations of a user.

        The newest invitation is the first. An invitation is an offer of a membership by another user. It
        counts in no limit of rooms, and gives no message and no event of the room. A user has at most
        `limits.invitations` open invitations: a new one ends the oldest.

        Args:
            user: A user's name, or `me`.
            limit: The maximum number of invitations.
            after: The `next` of the page before.

        Returns:
            A page of invitations.
        """
        result: types.InvitationPage = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/invitations",
                query={"limit": limit, "after": after},
            )
        )
        return result

    async def decline_invitation(
        self,
        user: str,
        room: str,
    ) -> None:
        """Decline an invitation.

        The inviter gets no event. Without an invitation, nothing changes.

        Args:
            user: A user's name, or `me`.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/invitations/{segment(room)}",
            )
        )

    async def accept_invitation(
        self,
        user: str,
        room: str,
    ) -> types.Membership:
        """Accept an invitation.

        The user becomes a member. A user's token needs the right `join`, and has the rights of a member in
        the room. The user has read the messages before the invitation, and not those after it. Without an
        invitation: 404. If a limit forbids the membership: 413, and the invitation stays.

        Args:
            user: A user's name, or `me`.

        Returns:
            201: The user is now a member.
            200: The user was already a member.
        """
        result: types.Membership = await self._send(
            Request(
                "POST",
                f"/v1/users/{segment(user)}/invitations/{segment(room)}/accept",
                is_repeatable=True,
            )
        )
        return result

    async def list_rooms(
        self,
        user: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        since: str | None = None,
        preview: Literal["text", "none"] | None = None,
    ) -> types.InboxPage:
        """List the rooms of a user.

        The rooms of a user that store messages, those with the newest activity first. Rooms move while a
        client reads the pages. After the oldest room, the pages therefore continue with the rooms that have
        changed since the list began. Each room is in at least one page, and a later entry of a room replaces
        an earlier one. With `since`, the reply has only the rooms that have changed after this position. If
        the changes are not complete, because the list has lost a room or the relay was restored from a
        backup, the reply has `reset` and the list begins again. A page omits rooms in which the caller lacks
        the right `join`.

        Args:
            user: A user's name, or `me`.
            limit: Maximum number of rooms.
            after: The `next` of the page before. Excludes `since`.
            since: The `position` of an earlier page: only later changes.
            preview: `none`: without texts of messages.

        Returns:
            A page of the rooms.
        """
        result: types.InboxPage = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/rooms",
                query={"limit": limit, "after": after, "since": since, "preview": preview},
            )
        )
        return result

    async def open_direct_room(
        self,
        user: str,
        other: str,
    ) -> types.Room:
        """Open the room of two people.

        Either person may open it first, and both get the same room, even at the same moment. Only the two
        people are members. A person who has left becomes a member again. A backend makes both people members
        at once. The setting `rooms.invitations` decides if a user's token only invites the other person. The
        reply does not say whether the name exists or has blocked the caller. Above `limits.newPeoplePerDay`
        invited people a day: 429. A new room needs the rights `join` and `create` for rooms named `direct.…`.

        Args:
            user: A user's name, or `me`.
            other: Another user's name.

        Returns:
            201: The room was created.
            200: The room existed.
        """
        result: types.Room = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/direct/{segment(other)}",
            )
        )
        return result

    async def block_user(
        self,
        user: str,
        other: str,
    ) -> types.Blocked:
        """Block another user.

        The blocked user sees the blocker as an unknown user, and causes no push. The relay does not notify
        the blocked user. Messages of the blocked user in shared rooms still arrive. Invitations by the
        blocked user end, and later ones are hidden.

        Args:
            user: A user's name, or `me`.
            other: Another user's name.

        Returns:
            The user is blocked.
        """
        result: types.Blocked = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/blocks/{segment(other)}",
            )
        )
        return result

    async def unblock_user(
        self,
        user: str,
        other: str,
    ) -> None:
        """Unblock another user.

        Args:
            user: A user's name, or `me`.
            other: Another user's name.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/blocks/{segment(other)}",
            )
        )

    async def export_user(
        self,
        user: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> str:
        """Export everything about a user.

        A page of JSON Lines. Each line is an object with a `type`: `profile`, `access`, `preferences`,
        `focus`, `filter`, `device`, `block`, `membership`, `invitation` (that the user has got or made),
        `ban`, `restriction` (in a room that the user has left), `message`, `reactions`, `report` (of a
        message, by the user), `call`, `response`, `push` or `audit` (an action of a backend about the user).
        The last line is {`type`: `next`, `cursor`}, and the next page has this `cursor`; or it is {`type`:
        `end`}. A page has at most `limit` lines of entries, and about 1 MiB of messages. It may have fewer
        lines, or none, although others follow.

        The export has no push tokens and no keys, because others could use them. An `audit` has neither the
        name of the API key nor the address. Each page has the state at the time of its request. A `message`
        with `from` is a notification that the user has received. After an erasure has started, requests for
        further pages are 404, and a new export has no entries.

        Args:
            user: A user's name, or `me`.
            cursor: The cursor of the page before. Without it the export begins.
            limit: The maximum number of entries of the page. The first page has all entries that belong to no
                room, even if they are more.
        """
        result: str = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/export",
                query={"cursor": cursor, "limit": limit},
                is_text=True,
            )
        )
        return result

    async def get_erasure(
        self,
        id: str,
    ) -> types.Erasure:
        """Read the state of an erasure.

        The relay keeps a finished erasure for 30 days. It contains nothing about the user.

        An erasure has no failed state, because an abandoned one would leave rows with the name. After a
        failed attempt, the relay tries again after 1 to 60 seconds, and `failure` has the last error until an
        attempt succeeds.

        Returns:
            The state.
        """
        result: types.Erasure = await self._send(
            Request(
                "GET",
                f"/v1/erasures/{segment(id)}",
            )
        )
        return result

    async def list_sessions(
        self,
        user: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListSessionsResult:
        """List the open sessions of a user.

        The relay keeps no addresses of clients.

        Args:
            user: A user's name, or `me`.
            after: The last session of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the sessions, in the order of their ids.
        """
        result: types.ListSessionsResult = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/sessions",
                query={"after": after, "limit": limit},
            )
        )
        return result

    async def list_devices(
        self,
        user: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListDevicesResult:
        """List the devices of a user.

        The reply contains no push tokens, because anybody with the token could push to the device.

        Args:
            user: A user's name, or `me`.
            after: The last device of the page before.
            limit: The maximum number of entries of the page.

        Returns:
            A page of the devices, in the order of their ids.
        """
        result: types.ListDevicesResult = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/devices",
                query={"after": after, "limit": limit},
            )
        )
        return result

    async def get_device(
        self,
        user: str,
        device: str,
    ) -> types.Device:
        """Read a device.

        Args:
            user: A user's name, or `me`.

        Returns:
            The device, without its tokens.
        """
        result: types.Device = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/devices/{segment(device)}",
            )
        )
        return result

    async def register_device(
        self,
        user: str,
        device: str,
        token: str | types.RegisterDeviceToken | None,
        *,
        platform: Literal["apns", "webpush", "http", "simulator", None] | Omitted = OMITTED,
        app: str | None | Omitted = OMITTED,
        environment: Literal["production", "sandbox", None] | Omitted = OMITTED,
        topic: str | None | Omitted = OMITTED,
        voip_token: str | None | Omitted = OMITTED,
        criteria: str | None | Omitted = OMITTED,
        settings: types.DeviceSettings | None | Omitted = OMITTED,
        locale: str | None | Omitted = OMITTED,
        time_zone: str | None | Omitted = OMITTED,
    ) -> types.Device:
        """Register a device for pushes.

        A token belongs to one app, and to one device of each of at most 8 users: the accounts of a phone.
        Another device of the user with the same token ends. A registration beyond 8 users ends the account
        that registered longest ago, with the warning `account_ended`. `settings` count for all accounts of
        the phone, and a new account gets the newest Focus and filter of the phone. A registration replaces
        the device's earlier one, and forgets the newest numbers of its reports. A None token forgets the
        device, as DELETE does.

        The reply contains a new `reportKey`: a credential that does not expire, for the app's extensions on
        this device. The 4 newest keys of a device are valid, so that an extension can use a former key until
        the app has saved the new one. The relay stores only hashes of the keys. It revokes the keys together
        with the device.

        Args:
            user: A user's name, or `me`.
            token: The address of the device at the gateway. `simulator`: a name. `apns`: pairs of hexadecimal
                digits. `http`: the pushkey. `webpush`: the subscription of the browser. None forgets the
                device.
            platform: Required with a token. `apns` needs an app with a credential in the configuration,
                `http` an app with a Matrix gateway, and `webpush` a key of the relay (`webPush.keyFile`).
            app: The bundle id of the app. If the configuration names apps, it must be one of them.
            environment: Apple's service that knows the token. If it is absent, the relay finds it out.
            topic: One of the app's bundle ids, if the app has several.
            voip_token: The token for calls. A call reaches the device even if alerts are off. At most 4,096
                bytes.
            criteria: The label of the account, which Focus filters match. At most 128 bytes.
            locale: The language and the region of the device's texts. At most 64 bytes.
            time_zone: The name of the time zone of the device, such as Europe/Berlin, for quiet hours without
                a `timeZone`. If the relay does not know the name, the reply has a warning.

        Returns:
            The device was registered, or forgotten if the token is None.
        """
        result: types.Device = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/devices/{segment(device)}",
                body={
                    "token": token, "platform": platform, "app": app, "environment": environment, "topic":
                    topic, "voipToken": voip_token, "criteria": criteria, "settings": settings, "locale":
                    locale, "timeZone": time_zone,
                },
            )
        )
        return result

    async def forget_device(
        self,
        user: str,
        device: str,
    ) -> None:
        """Forget a device.

        A report key forgets its own device, also after the tokens of its user have ended, and while its user
        is suspended. The key ends with the device, so that a repeated request gets 401.

        Args:
            user: A user's name, or `me`.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/devices/{segment(device)}",
            )
        )

    async def revoke_report_keys(
        self,
        user: str,
        device: str,
    ) -> None:
        """Revoke a device's report keys.

        Revokes every `reportKey` of the device. The device stays registered. Its next registration returns a
        new key.

        Args:
            user: A user's name, or `me`.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/devices/{segment(device)}/report-keys",
            )
        )

    async def revoke_all_report_keys(
        self,
        user: str,
    ) -> None:
        """Revoke the report keys of all devices of a user.

        A backend uses this when a user logs out, or after a leak. The devices stay registered. The next
        registration of each device returns a new key. A user without keys is no error.

        Args:
            user: A user's name, or `me`.
        """
        await self._send(
            Request(
                "DELETE",
                f"/v1/users/{segment(user)}/report-keys",
            )
        )

    async def decide(
        self,
        room: str,
        from_: str,
        user: str,
        *,
        mentions: list[str | Literal["*", "*online"]] | None | Omitted = OMITTED,
        reply_to: int | None | Omitted = OMITTED,
        push: bool | types.PushRequest | None | Omitted = OMITTED,
        report: bool | None | Omitted = OMITTED,
        rights: list[Literal[
    "join", "send", "push", "urgent", "history", "presence", "create", "moderate", "mentionAll",
]] | Omitted = OMITTED,
    ) -> types.Decisions:
        """Predict the decision about a message.

        The relay decides as if it accepted the message now, for each device of the recipient, or once if the
        recipient has no device. It sends and stores nothing.

        Args:
            from_: The sender.
            user: The recipient.
            mentions: The mentioned users, `*` for all members, or `*online` for the members who are online.
            reply_to: The number of the message that this message answers, at most the room's newest.
            push: The options of the pushes. False: no pushes. In rooms that store no messages: 422
                `unsupported`.
            report: Has no effect here.
            rights: The sender's rights in the room, as a token would give them. The default is the first of
                these: the rights of the sender's sessions, those of the room's pattern (`can`), all rights
                but `moderate` and `mentionAll`, and with tokens also without `urgent`.

        Returns:
            The decision for each device, and the facts that it is based on.
        """
        result: types.Decisions = await self._send(
            Request(
                "POST",
                "/v1/decisions",
                body={
                    "room": room, "from": from_, "user": user, "mentions": mentions, "replyTo": reply_to,
                    "push": push, "report": report, "rights": rights,
                },
                is_repeatable=True,
            )
        )
        return result

    async def lint_push(
        self,
        payload: Any,
        *,
        headers: dict[str, str | float | None] | None | Omitted = OMITTED,
        lenient: bool | None | Omitted = OMITTED,
    ) -> types.LintReport:
        """Find faults in a push.

        The relay sends and stores nothing. If the payload is a string, the linter reads it as a text, so that
        it also finds faults of the text.

        Args:
            payload: The payload: its text, of at most 65,536 bytes, or the JSON value itself.
            headers: The headers of the push, with Apple's names. Without headers the linter checks the
                payload only.
            lenient: True: the linter makes the corrections that are certain. The corrected errors become
                warnings, and the answer has the corrected payload.

        Returns:
            The findings. A correct push has none.
        """
        result: types.LintReport = await self._send(
            Request(
                "POST",
                "/v1/pushes/lint",
                body={
                    "payload": payload, "headers": headers, "lenient": lenient,
                },
                is_repeatable=True,
            )
        )
        return result

    async def get_categories(
        self,
    ) -> types.Categories:
        """Read the categories.

        Clients declare these categories to the system at each launch. The reply has the texts in all
        languages. A client takes the text in the first of its languages that exists, or else `default`.

        Returns:
            All categories. Version 0 means that they were never set.
        """
        result: types.Categories = await self._send(
            Request(
                "GET",
                "/v1/categories",
            )
        )
        return result

    async def set_categories(
        self,
        categories: list[types.Category],
        *,
        version: int | None | Omitted = OMITTED,
    ) -> types.Categories:
        """Replace the categories.

        The request replaces all categories. A push can name only these categories. A notification whose
        category was removed has only the actions of the system. The same request again changes nothing. All
        categories together have at most 256 KiB.

        Args:
            categories: The id of each category is unique. So is the id of each action, over all categories.
            version: The version that the request replaces. If the version of the relay differs: 409.

        Returns:
            The categories, with the changes.
        """
        result: types.Categories = await self._send(
            Request(
                "PUT",
                "/v1/categories",
                body={
                    "version": version, "categories": categories,
                },
            )
        )
        return result

    async def respond(
        self,
        id: str,
        action: str,
        *,
        user: str | None | Omitted = OMITTED,
        text: str | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
    ) -> types.Responded:
        """Respond to a notification.

        The id is `notification` of the payload's `communication` or `push`, or `call` of a VoIP push. The
        action belongs to the present category of the notification, or is an action of the system:
        `com.apple.UNNotificationDefaultActionIdentifier` or
        `com.apple.UNNotificationDismissActionIdentifier`.

        For each message a user has one response by an action of the category, from any device, and one by
        each action of the system. The same response again is a duplicate, and another response is 409. The
        relay accepts a response until 3 days after the push has ended.

        The sender of the message gets an event `response`. The text of an action with `posts` becomes a
        message of the user, {`text`}, which answers the message of the notification and needs the right
        `send`. With a report key, the rights are those of the user's newest token.

        Args:
            id: The id of a push.
            user: The user whose notification it is. An API key needs it, unless `X-Stillwire-User` names the
                user. A token must not have it.
            text: The text, for an action with `textInput`, with a maximum size in bytes. An action with
                `posts` needs a text that is not blank.
            key: A second response to the same message with the same key is a duplicate, whatever its other
                fields are. The default is a new key, so that the client can retry.

        Returns:
            201: The response was stored. The relay sends the event as soon as the sender has a session.
            200: A duplicate: the relay had already stored this response. It sends no second event.
        """
        result: types.Responded = await self._send(
            Request(
                "POST",
                f"/v1/notifications/{segment(id)}/responses",
                body={
                    "user": user, "action": action, "text": text, "key": new_key(key),
                },
                is_repeatable=True,
            )
        )
        return result

    async def receive_push(
        self,
        id: str,
        *,
        receipt: str | Omitted = OMITTED,
    ) -> types.ReceivePushResult:
        """Confirm that a push arrived.

        The notification service extension of an app sends this request. It authenticates with the receipt
        from the payload, or with the `reportKey` of the device. A repeated request changes nothing. A receipt
        is valid for 3 days. The body has at most 1,024 bytes.

        Args:
            id: The id of a push.
            receipt: `receipt` of the payload's `communication` or `push`. A request with a report key does
                not need it.

        Returns:
            The relay has stored that the push arrived.
        """
        result: types.ReceivePushResult = await self._send(
            Request(
                "POST",
                f"/v1/notifications/{segment(id)}/received",
                body={
                    "receipt": receipt,
                },
                is_repeatable=True,
            )
        )
        return result

    async def notify_user(
        self,
        user: str,
        push: Literal[True] | types.PushRequest,
        *,
        from_: str | None | Omitted = OMITTED,
        key: str | None | Omitted = OMITTED,
    ) -> types.PostedNotification:
        """Send a push without a message.

        The relay decides as for a message, without the rules about rooms: read and received messages, levels
        of rooms, and waits. Blocks, Focus, quiet hours, devices, levels and entitlements apply. The relay
        queues one push for each device before it answers. Such a push never becomes part of a digest. Its
        payload has no `message`. Without `thread` the push is in the app's own group. Without `badge` the
        badge does not change. With `collapse` `room`, a device shows only the newest notification of the
        user.

        If `push` has a `title`, and `from` is no user of an app, the push is a plain notification, whose ids
        are in `push` of the payload. Otherwise it is a communication notification in a conversation with the
        sender.

        Args:
            user: A user's name, or `me`.
            push: True is the same as an empty object.
            from_: The sender. In open mode the default is the user that `X-Stillwire-User` names.
            key: Makes a repeated request harmless, for 5 minutes, for each `from` and user. The default is a
                new key, so that the client can retry.

        Returns:
            201: The pushes were stored.
            200: The relay received the same `key` within the last 5 minutes. The reply has the pushes of the
                first request that are still stored.
        """
        result: types.PostedNotification = await self._send(
            Request(
                "POST",
                f"/v1/users/{segment(user)}/notifications",
                body={
                    "from": from_, "push": push, "key": new_key(key),
                },
                is_repeatable=True,
            )
        )
        return result

    async def list_pushes(
        self,
        *,
        state: types.PushState | None = None,
        user: str | None = None,
        note: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> types.ListPushesResult:
        """List pushes, newest first.

        The list does not contain the facts of the decisions; `GET /v1/pushes/{id}` has them. The relay keeps
        finished pushes for 3 days.

        Args:
            state: Only pushes in this state. `dead` are dead letters: a gateway refused them permanently.
            user: Only pushes to this user.
            note: Only dead letters with this `note`, such as `DeviceTokenNotForTopic`. Needs the state
                `dead`.
            after: Only pushes older than this push, which is the last push of the page before.
            limit: Maximum number of pushes.

        Returns:
            A page of pushes.
        """
        result: types.ListPushesResult = await self._send(
            Request(
                "GET",
                "/v1/pushes",
                query={"state": state, "user": user, "note": note, "after": after, "limit": limit},
            )
        )
        return result

    async def retry_pushes(
        self,
        *,
        user: str | None | Omitted = OMITTED,
        note: str | None | Omitted = OMITTED,
        after: str | None | Omitted = OMITTED,
        limit: int | None | Omitted = OMITTED,
    ) -> types.RetryPushesResult:
        """Retry dead letters.

        The relay decides each push again, as if all waits had ended, the newest push first. It may hold a
        push, or cancel it because the message was read meanwhile. The answer lists the dead letters of one
        page in this order. For the next page, `after` is the last push of the answer. Pushes to one device
        may arrive as one digest. The audit log has an entry for each push that the relay retries, as for a
        retry of one push.

        Args:
            user: Only pushes to this user.
            note: Only dead letters with this `note`, such as `DeviceTokenNotForTopic`.
            after: Only pushes older than this push, which is the last push of the page before.
            limit: Maximum number of dead letters.

        Returns:
            The pushes of the page.
        """
        result: types.RetryPushesResult = await self._send(
            Request(
                "POST",
                "/v1/pushes/retry",
                body={
                    "user": user, "note": note, "after": after, "limit": limit,
                },
            )
        )
        return result

    async def explain_push(
        self,
        id: str,
    ) -> types.Push:
        """Explain a push.

        The id is `notification` of the payload's `communication` or `push`, and `apns-id`. The relay keeps
        finished pushes for 3 days.

        Args:
            id: The id of a push.

        Returns:
            The push.
        """
        result: types.Push = await self._send(
            Request(
                "GET",
                f"/v1/pushes/{segment(id)}",
            )
        )
        return result

    async def retry_push(
        self,
        id: str,
    ) -> types.Push:
        """Retry a dead letter.

        The relay decides the push again, as if all waits had ended. It may hold the push, or cancel it
        because the message was read meanwhile. A repeated request changes nothing. The relay answers
        `conflict` if the push is not a dead letter and was never retried, if it has expired, or if its device
        or its message no longer exists.

        Args:
            id: The id of a push.

        Returns:
            The push, in its present state.
        """
        result: types.Push = await self._send(
            Request(
                "POST",
                f"/v1/pushes/{segment(id)}/retry",
                is_repeatable=True,
            )
        )
        return result

    async def get_access(
        self,
        user: str,
    ) -> types.Access:
        """Read the restrictions of a user.

        Args:
            user: A user's name, or `me`.

        Returns:
            The restrictions.
        """
        result: types.Access = await self._send(
            Request(
                "GET",
                f"/v1/users/{segment(user)}/access",
            )
        )
        return result

    async def set_access(
        self,
        user: str,
        *,
        suspended: bool | None | Omitted = OMITTED,
        until: int | None | Omitted = OMITTED,
        reason: str | None | Omitted = OMITTED,
        not_before: int | None | Omitted = OMITTED,
    ) -> types.Access:
        """Suspend a user, or revoke the user's tokens.

        Replaces all restrictions of the user, a suspension and `notBefore` together; an empty object ends
        them. The user need not be known yet.

        A suspension closes the user's sessions with 4507, after which clients do not reconnect. Until its
        end, the relay refuses the user's `hello`, HTTP requests and report keys with `forbidden`, and sends
        the user no pushes. The memberships stay.

        `notBefore` revokes the tokens that were issued earlier: the relay closes their sessions with 4002,
        after which clients connect with a new token, and refuses these tokens.

        Args:
            user: A user's name, or `me`.
            suspended: Without this field the user is not suspended.
            until: The end of the suspension, in the future. Without it the suspension has no end.
            reason: A text for the user, at most 112 bytes. The close frame and the errors contain it.
            not_before: The relay refuses tokens whose `iat` is earlier, or that have none. It compares whole
                seconds, so a token of the same second is accepted. `unsupported` in open mode.

        Returns:
            The restrictions, and the number of closed sessions.
        """
        result: types.Access = await self._send(
            Request(
                "PUT",
                f"/v1/users/{segment(user)}/access",
                body={
                    "suspended": suspended, "until": until, "reason": reason, "notBefore": not_before,
                },
            )
        )
        return result

    async def disconnect_user(
        self,
        user: str,
        *,
        reason: str | None | Omitted = OMITTED,
    ) -> types.DisconnectUserResult:
        """End all sessions of a user.

        The relay closes the sessions with 4506. Clients then do not reconnect by themselves.

        Args:
            user: A user's name, or `me`.
            reason: The `reason` of `bye`, at most 123 bytes.

        Returns:
            The number of closed sessions.
        """
        result: types.DisconnectUserResult = await self._send(
            Request(
                "POST",
                f"/v1/users/{segment(user)}/disconnect",
                body={
                    "reason": reason,
                },
            )
        )
        return result

    async def list_audit_entries(
        self,
        *,
        key: str | None = None,
        operation: str | None = None,
        room: str | None = None,
        user: str | None = None,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> types.AuditPage:
        """List the actions of backends.

        The audit log has an entry for each change that an API key has requested, except the frequent ones
        that the configuration does not name (`audit.operations`), for each export of a user, and for refused
        requests. An entry names the room and the users of the request, and has no text or other content.

        Without `after` the newest entry is the first. A collector reads all entries in their order: it begins
        with `after=0`, and continues with the number of the newest entry that it has. A page with several
        filters may have fewer entries than `limit`, or none, although others follow: `next` is then the value
        of `before` or `after` for the next page. The relay keeps entries for the time and up to the number of
        the configuration (`audit.retention`, `audit.entries`).

        The log is for administrators: in a scope, `read` does not permit this operation. A key whose scope
        has `users` must name one of them in `user`. The entries then lack the other users.

        Args:
            key: Only requests with the API key of this name.
            operation: Only requests of this operation, such as `removeMember`.
            room: Only requests about this room.
            user: Only requests that name this user.
            before: Only entries with a lower number, the newest first. Not together with `after`.
            after: Only entries with a higher number, the oldest first.
            limit: Maximum number of entries.

        Returns:
            A page of the audit log.
        """
        result: types.AuditPage = await self._send(
            Request(
                "GET",
                "/v1/audit",
                query={"key": key, "operation": operation, "room": room, "user": user, "before": before, "after": after, "limit": limit},
            )
        )
        return result

    async def get_lock_screen(
        self,
        token: str,
    ) -> types.LockScreen:
        """Read a simulated phone's lock screen.

        Args:
            token: The token that the device was registered with.

        Returns:
            The notifications, oldest first. `isReachable` is True if pushes reach the phone.
        """
        result: types.LockScreen = await self._send(
            Request(
                "GET",
                f"/v1/simulator/devices/{segment(token)}",
            )
        )
        return result

    async def set_reachable(
        self,
        token: str,
        is_reachable: bool,
    ) -> types.Reachability:
        """Make a simulated phone reachable or unreachable.

        While a phone is unreachable, its pushes fail and are `retrying`, as if no server answered. When it is
        reachable again, they arrive within 5 s. The relay retries a push that changes a shown notification
        for half a minute only. The lock screen does not change. After a restart of the relay, every phone is
        reachable.

        Args:
            token: The token that the device was registered with.
            is_reachable: True if pushes reach the phone.

        Returns:
            The phone, in its present state.
        """
        result: types.Reachability = await self._send(
            Request(
                "PUT",
                f"/v1/simulator/devices/{segment(token)}",
                body={
                    "isReachable": is_reachable,
                },
            )
        )
        return result

    async def get_web_push_key(
        self,
    ) -> types.GetWebPushKeyResult:
        """Read the public key for Web Push.

        Returns:
            The public key of the relay. None: the relay does not push to browsers.
        """
        result: types.GetWebPushKeyResult = await self._send(
            Request(
                "GET",
                "/v1/webpush",
            )
        )
        return result

    async def is_live(
        self,
    ) -> types.IsLiveResult:
        """Check that the process runs.

        Returns:
            The process runs.
        """
        result: types.IsLiveResult = await self._send(
            Request(
                "GET",
                "/live",
                is_of_node=True,
            )
        )
        return result

    async def is_ready(
        self,
    ) -> types.Readiness:
        """Check that the relay accepts clients.

        Returns:
            The relay accepts clients, whether or not the store is available now. The store is not damaged.
        """
        result: types.Readiness = await self._send(
            Request(
                "GET",
                "/ready",
                also_expected={503},
                is_of_node=True,
            )
        )
        return result

    async def confirm_clock(
        self,
    ) -> types.ConfirmClockResult:
        """Confirm that the relay's clock is right.

        If somebody sets the clock of the machine by much, or if the relay was stopped for long, the relay
        deletes nothing by its age for a time, because the clock may be wrong. This request ends the wait, and
        the relay deletes data by its age again. Check the time of the relay's machine first, because deleted
        data is lost.

        Returns:
            `waited` is True if this request has ended a wait.
        """
        result: types.ConfirmClockResult = await self._send(
            Request(
                "POST",
                "/v1/clock/confirm",
            )
        )
        return result

    async def get_cluster(
        self,
    ) -> types.ClusterNode:
        """Read the state of a cluster's node.

        Each node answers for itself, also a leader that waits for a proof that it leads. In open mode, only
        clients on the node's own machine may read it. A relay without a cluster answers 404.

        Returns:
            The role of the node, and the leader that it knows.
        """
        result: types.ClusterNode = await self._send(
            Request(
                "GET",
                "/v1/cluster",
                is_of_node=True,
            )
        )
        return result

    async def step_down(
        self,
    ) -> types.ClusterNode:
        """Let another node take over from the leader.

        The leader closes its sessions and becomes a follower. A node that does not lead answers 409. The
        answer does not wait for the log of the cluster. After it, the leader waits at most 1 second for the
        entry of the audit log. A leader that waits for a proof that it leads writes no entry.

        Returns:
            The leader steps down now.
        """
        result: types.ClusterNode = await self._send(
            Request(
                "POST",
                "/v1/cluster/step-down",
                is_of_node=True,
                codes_of_standby={"conflict"},
            )
        )
        return result

    async def publish_snapshot(
        self,
    ) -> types.ClusterNode:
        """Publish a snapshot of the node's data.

        The node copies its data in the background, at most once in 10 s. The log then drops the records that
        the snapshot contains.

        Returns:
            The node has begun.
        """
        result: types.ClusterNode = await self._send(
            Request(
                "POST",
                "/v1/cluster/snapshot",
                is_of_node=True,
            )
        )
        return result

    async def read_metrics(
        self,
    ) -> str:
        """Read the metrics.

        The caller needs an API key, unless `metrics.open` is set or the relay is in open mode.
        """
        result: str = await self._send(
            Request(
                "GET",
                "/metrics",
                is_text=True,
                is_of_node=True,
            )
        )
        return result

    async def get_open_api(
        self,
    ) -> dict[str, Any]:
        """Read this document.

        Returns:
            This document.
        """
        result: dict[str, Any] = await self._send(
            Request(
                "GET",
                "/openapi.json",
            )
        )
        return result

    async def get_async_api(
        self,
    ) -> dict[str, Any]:
        """Read the description of sessions.

        Returns:
            An AsyncAPI 3.0 document.
        """
        result: dict[str, Any] = await self._send(
            Request(
                "GET",
                "/asyncapi.json",
            )
        )
        return result
