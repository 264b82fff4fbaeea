// SPDX-License-Identifier: Apache-2.0
/* The checks of a request's head that libwebsockets leaves out. They read the head that the library has
 * parsed, and run before anything acts on it, for requests and for upgrades alike. */
#include "internal.h"

/* RFC 9110 defines each of these fields as a single value. The library shows only the first of headers that
 * it does not know, such as X-Stillwire-User and Idempotency-Key, so repeated ones pass. */
static const struct {
  enum lws_token_indexes token;
  const char *fault;
} singles[] = {
    {WSI_TOKEN_HOST, "the header Host is repeated"},
    {WSI_TOKEN_ORIGIN, "the header Origin is repeated"},
    {WSI_TOKEN_HTTP_AUTHORIZATION, "the header Authorization is repeated"},
    {WSI_TOKEN_HTTP_CONTENT_LENGTH, "the header Content-Length is repeated"},
    {WSI_TOKEN_HTTP_CONTENT_TYPE, "the header Content-Type is repeated"},
    {WSI_TOKEN_HTTP_TRANSFER_ENCODING, "the header Transfer-Encoding is repeated"},
    {WSI_TOKEN_HTTP_RANGE, "the header Range is repeated"},
    {WSI_TOKEN_HTTP_IF_MODIFIED_SINCE, "the header If-Modified-Since is repeated"},
    {WSI_TOKEN_HTTP_IF_UNMODIFIED_SINCE, "the header If-Unmodified-Since is repeated"},
    {WSI_TOKEN_KEY, "the header Sec-WebSocket-Key is repeated"},
    {WSI_TOKEN_VERSION, "the header Sec-WebSocket-Version is repeated"},
};

/* Swift parses these on the hub's thread, at a cost that grows with their length. */
static const struct {
  enum lws_token_indexes token;
  int max;
  const char *fault;
} bounded[] = {
    {WSI_TOKEN_HTTP_URI_ARGS, 4096, "the query is longer than 4096 bytes"},
    {WSI_TOKEN_HTTP_IF_MATCH, 1024, "the header If-Match is longer than 1024 bytes"},
    {WSI_TOKEN_HTTP_IF_NONE_MATCH, 1024, "the header If-None-Match is longer than 1024 bytes"},
    {WSI_TOKEN_HTTP_CONTENT_TYPE, 1024, "the header Content-Type is longer than 1024 bytes"},
    {WSI_TOKEN_HTTP_ACCEPT_ENCODING, 1024, "the header Accept-Encoding is longer than 1024 bytes"},
};

enum { MAX_PATH = 2048 };

static bool is_repeated(struct lws *wsi, enum lws_token_indexes token) {
  return lws_hdr_fragment_length(wsi, token, 1) > 0; /* a second one counts its separator */
}

static const char *path_fault(struct lws *wsi) {
  char *path;
  int size;
  if (lws_http_get_uri_and_method(wsi, &path, &size) < 0) return "the path is missing";
  if (size > MAX_PATH) return "the path is longer than 2048 bytes";
  for (int i = 0; i < size; i++)
    if ((unsigned char)path[i] < ' ' || path[i] == 0x7f) return "the path has a control character";
  return NULL;
}

/* Returns the reason to refuse a request with 400, or NULL. relay__http_request() and relay__http_upgrade()
 * call it first.
 *
 * libwebsockets 4.1.6 decodes %xx while it looks for the end of the target. A %0A or %0D therefore ends the
 * target, and the text behind it becomes a header line, such as a Host. That line also takes the protocol
 * version, because the library decodes and reads a version nowhere but behind the target: a head without its
 * version is such a head. The library chains repeated headers and returns them joined, so a repeated one is
 * visible here. */
const char *relay__head_fault(struct lws *wsi) {
  char text[512];
  const int version = lws_hdr_copy_fragment(wsi, text, sizeof text, WSI_TOKEN_HTTP, 0);
  if (version != 8 || (memcmp(text, "HTTP/1.1", 8) && memcmp(text, "HTTP/1.0", 8)) ||
      is_repeated(wsi, WSI_TOKEN_HTTP) || lws_hdr_total_length(wsi, WSI_TOKEN_HTTP1_0) > 0)
    return "the request line must end with HTTP/1.1 or HTTP/1.0";
  const bool needs_host = text[7] == '1';
  const char *fault = path_fault(wsi);
  if (fault) return fault;
  for (size_t i = 0; i < LWS_ARRAY_SIZE(bounded); i++)
    if (lws_hdr_total_length(wsi, bounded[i].token) > bounded[i].max) return bounded[i].fault;
  for (size_t i = 0; i < LWS_ARRAY_SIZE(singles); i++)
    if (is_repeated(wsi, singles[i].token)) return singles[i].fault;
  if (lws_hdr_total_length(wsi, WSI_TOKEN_HOST) <= 0) return needs_host ? "the header Host is missing" : NULL;
  const int size = lws_hdr_copy_fragment(wsi, text, sizeof text, WSI_TOKEN_HOST, 0);
  relay__host_t host;
  if (size < 0 || !relay__host_parse(text, (size_t)size, &host))
    return "Host must be a name or an address, with an optional port";
  return NULL;
}
