// SPDX-License-Identifier: Apache-2.0
/* core.h -- rooms, users and sessions, and the hub that owns them. Sockets belong to edge/, which the core
 * reaches through link.h. All functions run on the hub's thread.
 *
 * The files of each header:
 *
 *   hub.h      the hub and its parts: hub.c (the loop), clock.c, alarm.c, timers.c, events.c, service.c,
 *              drain.c, returns.c, receipts.c, flush.c, list.c, stats.c, log.c
 *   frames.h   frames, and the outbox of a session
 *   rates.h    rate limits
 *   session.h  session.c, heartbeat.c, input.c, frozen.c
 *   request.h  request.c, fields.c, send.c, reply.c
 *   user.h     user.c, presence.c, view.c, watch.c
 *   room.h     room.c, later.c, member.c, members.c, seat.c, calls.c, message.c, recipients.c, away.c
 *
 * "The loop's clock" is `hub->clock.loop`, in milliseconds from an arbitrary start; other times are since
 * 1970. A stamp is a value of `hub->presence.stamp`. */
#ifndef RELAY_CORE_H
#define RELAY_CORE_H

#include "room.h"
#include "session.h"
#include "user.h"

/* find.c: the functions return NULL if the object does not exist */

relay_session_t *relay__session_find(const relay_hub_t *hub, relay_id_t id);
relay_user_t *relay__user_find(const relay_hub_t *hub, relay_id_t id);
relay_room_t *relay__room_find(const relay_hub_t *hub, relay_id_t id);
relay_room_t *relay__room_named(const relay_hub_t *hub, const char *name, size_t size);
relay_seat_t *relay__seat_find(const relay_session_t *session, const relay_room_t *room);
relay_member_t *relay__member_find(const relay_user_t *user, const relay_room_t *room);

#endif
