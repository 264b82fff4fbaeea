// SPDX-License-Identifier: Apache-2.0
/* Builds the text of answers: status line, headers, problem documents. */
#include <stdio.h>
#include <time.h>

#include "edge.h"

const char *relay_http_reason(int status) {
  switch (status) {
  case 100:
    return "Continue";
  case 200:
    return "OK";
  case 201:
    return "Created";
  case 204:
    return "No Content";
  case 304:
    return "Not Modified";
  case 307:
    return "Temporary Redirect";
  case 308:
    return "Permanent Redirect";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 409:
    return "Conflict";
  case 411:
    return "Length Required";
  case 412:
    return "Precondition Failed";
  case 413:
    return "Content Too Large";
  case 414:
    return "URI Too Long";
  case 415:
    return "Unsupported Media Type";
  case 417:
    return "Expectation Failed";
  case 422:
    return "Unprocessable Content";
  case 426:
    return "Upgrade Required";
  case 429:
    return "Too Many Requests";
  case 431:
    return "Request Header Fields Too Large";
  case 501:
    return "Not Implemented";
  case 503:
    return "Service Unavailable";
  case 505:
    return "HTTP Version Not Supported";
  default:
    return status < 500 ? "Error" : "Internal Server Error";
  }
}

/* Appends the header Date (RFC 9110, section 5.6.7), in English for every locale. */
static void put_date(relay__text_t *out, int64_t now) {
  static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const time_t seconds = (time_t)(now / 1000);
  struct tm parts;
  gmtime_r(&seconds, &parts);
  char line[64];
  const int size = snprintf(line, sizeof line, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n",
                            days + 3 * parts.tm_wday, parts.tm_mday, months + 3 * parts.tm_mon,
                            1900 + parts.tm_year, parts.tm_hour, parts.tm_min, parts.tm_sec);
  relay__put(out, line, (size_t)size);
}

void relay__put_status(relay__text_t *out, relay_hub_t *hub, int status) {
  char line[128];
  const int size = snprintf(line, sizeof line, "HTTP/1.1 %d %s\r\n", status, relay_http_reason(status));
  relay__put(out, line, (size_t)size);
  put_date(out, hub->clock.now);
}

/* `Vary: Origin` keeps caches from returning the answer for one origin to another. */
void relay__put_sharing(relay__text_t *out, const relay_hub_t *hub, const char *origin) {
  if (!*hub->config.origins && !origin) return;
  relay__puts(out, "Vary: Origin\r\n");
  if (!origin) return;
  relay__puts(out, "Access-Control-Allow-Origin: ");
  relay__puts(out, origin);
  relay__puts(
      out,
      "\r\nAccess-Control-Expose-Headers: Allow, ETag, Retry-After, Stillwire-Leader, WWW-Authenticate\r\n");
}

void relay__put_answer(relay__text_t *out, const relay__answer_t *answer) {
  const bool has_body = answer->status != 204 && answer->status != 304;
  const bool has_length =
      has_body && (answer->body.count || !answer->is_head); /* HEAD of a stream: the length is unknown */
  relay__puts(out, answer->headers);
  if (answer->closes)
    relay__puts(out, "Connection: close\r\n");
  else if (answer->is_old)
    relay__puts(out, "Connection: keep-alive\r\n");
  if (has_length) {
    relay__puts(out, "Content-Length: ");
    relay__put_integer(out, (int64_t)answer->body.count);
    relay__puts(out, "\r\n");
  }
  relay__puts(out, "\r\n");
  if (has_body && !answer->is_head) relay__put(out, answer->body.at, answer->body.count);
}

relay_bytes_t relay__problem(char *at, size_t capacity, relay__refusal_t refusal) {
  const int size = snprintf(at, capacity,
                            "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\","
                            "\"detail\":\"%s\"}",
                            relay_http_reason(refusal.status), refusal.status, refusal.code, refusal.detail);
  return (relay_bytes_t){at, (size_t)size};
}
