// SPDX-License-Identifier: Apache-2.0
/* relay_codes.h -- the close codes and the error codes of the protocol. RelayProtocol, which imports nothing,
 * has CloseCode and ErrorCode. A test of RelayHub compares them with these lists. */
#ifndef RELAY_CODES_H
#define RELAY_CODES_H

/* clang-format off */

/* The client should reconnect after 4000 to 4499, and should not after 4500 to 4999. */
#define RELAY_CLOSE_CODES(code)   \
  code(SHUTDOWN,            4000) \
  code(SERVER_ERROR,        4001) \
  code(TOKEN_EXPIRED,       4002) \
  code(TOO_SLOW,            4003) \
  code(NO_PONG,             4004) \
  code(RESYNCHRONIZE,       4005) \
  code(OVER_RATE,           4006) \
  code(TOKEN_NOT_YET_VALID, 4007) \
  code(BAD_REQUEST,         4500) \
  code(UNAUTHORIZED,        4501) \
  code(NO_HELLO,            4502) \
  code(FORBIDDEN,           4503) \
  code(TOO_MANY_SESSIONS,   4504) \
  code(TOO_LARGE,           4505) \
  code(BY_OPERATOR,         4506) \
  code(SUSPENDED,           4507)

#define RELAY_ERROR_CODES(code)        \
  code(BAD_REQUEST,  "bad_request")    \
  code(UNAUTHORIZED, "unauthorized")   \
  code(FORBIDDEN,    "forbidden")      \
  code(RESTRICTED,   "restricted")     \
  code(NOT_JOINED,   "not_joined")     \
  code(NOT_FOUND,    "not_found")      \
  code(UNSUPPORTED,  "unsupported")    \
  code(CONFLICT,     "conflict")       \
  code(TOO_LARGE,    "too_large")      \
  code(SUPERSEDED,   "superseded")     \
  code(RATE_LIMITED, "rate_limited")   \
  code(UNAVAILABLE,  "unavailable")    \
  code(INTERNAL,     "internal")

/* clang-format on */

#define RELAY_CODES_NUMBER(name, number) RELAY_CLOSE_##name = number,
enum relay_close {
  RELAY_CODES_NUMBER(NORMAL, 1000) RELAY_CLOSE_CODES(RELAY_CODES_NUMBER) RELAY_CLOSE_FOR_GOOD = 4500
};
#undef RELAY_CODES_NUMBER

#endif
