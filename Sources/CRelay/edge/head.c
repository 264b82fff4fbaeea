// SPDX-License-Identifier: Apache-2.0
/* The head of a request: checks of its bytes, the calls of libhttp_parser, and checks of the whole head. See
 * head.h. */
#include "head.h"

#include <http_parser.h>
#include <stdlib.h>
#include <strings.h>

#include "address.h"

enum { MAX_PATH_SIZE = 2048, MAX_QUERY_SIZE = 4096, MAX_LENGTH_DIGITS = 15 };

/* The relay refuses a request that repeats one of these fields, because a proxy could use another value than
 * the relay. */
static const struct {
  const char *name, *fault;
} singles[] = {
    {"host", "the header Host is repeated"},
    {"origin", "the header Origin is repeated"},
    {"authorization", "the header Authorization is repeated"},
    {"content-length", "the header Content-Length is repeated"},
    {"content-type", "the header Content-Type is repeated"},
    {"transfer-encoding", "the header Transfer-Encoding is repeated"},
    {"expect", "the header Expect is repeated"},
    {"range", "the header Range is repeated"},
    {"if-modified-since", "the header If-Modified-Since is repeated"},
    {"if-unmodified-since", "the header If-Unmodified-Since is repeated"},
    {"idempotency-key", "the header Idempotency-Key is repeated"},
    {"x-stillwire-user", "the header X-Stillwire-User is repeated"},
    {"sec-websocket-key", "the header Sec-WebSocket-Key is repeated"},
    {"sec-websocket-version", "the header Sec-WebSocket-Version is repeated"},
};

/* Swift parses these on the hub's thread, in a time that grows with their length, so their length is
 * limited. */
static const struct {
  const char *name, *fault;
} bounded[] = {
    {"if-match", "the header If-Match is longer than 1024 bytes"},
    {"if-none-match", "the header If-None-Match is longer than 1024 bytes"},
    {"content-type", "the header Content-Type is longer than 1024 bytes"},
    {"accept-encoding", "the header Accept-Encoding is longer than 1024 bytes"},
};
enum { MAX_BOUNDED_SIZE = 1024 };

static relay__head_result_t refuse(relay__head_t *head, int status, const char *code, const char *detail) {
  head->refusal = (relay__refusal_t){status, code, detail};
  return RELAY__HEAD_REFUSED;
}

static relay__head_result_t refuse_bad(relay__head_t *head, const char *detail) {
  return refuse(head, 400, "bad_request", detail);
}

/* Characters of tokens: of methods and of field names (RFC 9110, section 5.6.2). */
static bool is_token_character(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c && strchr("!#$%&'*+-.^_`|~", c));
}

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Lines */

/* Returns the fault of a byte of the request line, or NULL. */
static const char *request_line_fault(relay__lines_t *lines, unsigned char c) {
  static const char version[] = "HTTP/";
  if (c == ' ') return ++lines->spaces > 2 ? "the request line has more than two spaces" : NULL;
  if (!lines->spaces && !is_token_character(c)) return "the method is not a token";
  if (lines->spaces == 2 && lines->version < sizeof version - 1 && c != version[lines->version++])
    return "the request line must end with HTTP/1.1 or HTTP/1.0";
  return c < ' ' || c > '~' ? "the request line has a character that is not allowed" : NULL;
}

static const char too_many_fields[] = "the request has more than 100 headers";

/* Returns the fault of one byte of the head, or NULL. The bytes are checked in their order, because a fault
 * depends on the line and its part. */
static const char *byte_fault(relay__lines_t *lines, unsigned char c) {
  if (lines->has_return) {
    lines->has_return = false;
    if (c != '\n') return "a carriage return has no line feed after it";
    if (lines->state != RELAY__BEFORE_LINES) lines->state = RELAY__LINE_BEGIN;
    return NULL;
  }
  if (c == '\r') {
    lines->has_return = true;
    if (lines->state == RELAY__REQUEST_LINE && lines->spaces < 2)
      return "the request line must end with HTTP/1.1 or HTTP/1.0";
    return lines->state == RELAY__FIELD_NAME ? "a header line has no colon" : NULL;
  }
  if (c == '\n') return "a line feed has no carriage return before it";
  switch (lines->state) {
  case RELAY__BEFORE_LINES:
    lines->state = RELAY__REQUEST_LINE;
    if (c == ' ') return "the request line begins with white space";
    return request_line_fault(lines, c);
  case RELAY__REQUEST_LINE:
    return request_line_fault(lines, c);
  case RELAY__LINE_BEGIN:
    if (c == ' ' || c == '\t') return "a header line begins with white space";
    lines->state = RELAY__FIELD_NAME;
    if (++lines->fields > RELAY__HEAD_FIELDS) return too_many_fields;
    return is_token_character(c) ? NULL : "the name of a header is not a token";
  case RELAY__FIELD_NAME:
    if (c == ':') lines->state = RELAY__FIELD_VALUE;
    return c == ':' || is_token_character(c) ? NULL : "the name of a header is not a token";
  case RELAY__FIELD_VALUE:
    return (c < ' ' && c != '\t') || c == 0x7f ? "a header has a control character" : NULL;
  }
  return NULL;
}

static const char *lines_fault(relay__lines_t *lines, const char *at, size_t size) {
  const char *fault = NULL;
  for (size_t i = 0; i < size && !fault; i++) fault = byte_fault(lines, (unsigned char)at[i]);
  return fault;
}

/* Callbacks of libhttp_parser */

static relay__head_t *head_of(http_parser *parser) {
  return parser->data;
}

static int on_target(http_parser *parser, const char *at, size_t size) {
  relay__head_t *head = head_of(parser);
  relay__put(&head->text, at, size);
  head->target_size += (uint32_t)size;
  return 0;
}

/* Until the head is whole, `at` of a field is an offset into `text`, because `text` may move. finish() turns
 * it into a pointer. */

/* Ends the newest value, and removes the white space at its end. */
static void end_value(relay__head_t *head) {
  if (head->part != RELAY__IN_VALUE) return;
  relay_field_t *field = &head->fields[head->field_count - 1];
  const size_t begin = (uintptr_t)field->value.at;
  while (head->text.size > begin &&
         (head->text.at[head->text.size - 1] == ' ' || head->text.at[head->text.size - 1] == '\t'))
    head->text.size--;
  field->value.count = head->text.size - begin;
  relay__put(&head->text, "", 1);
}

static int on_name(http_parser *parser, const char *at, size_t size) {
  relay__head_t *head = head_of(parser);
  if (head->part != RELAY__IN_NAME) {
    if (head->part == RELAY__IN_TARGET) relay__put(&head->text, "", 1);
    end_value(head);
    if (head->field_count == RELAY__HEAD_FIELDS) return 1; /* lines_fault() refuses the head */
    head->fields =
        relay__grow(head->fields, head->field_count, &head->field_capacity, sizeof *head->fields, 16);
    head->fields[head->field_count++] = (relay_field_t){{(void *)head->text.size, 0}, {0}};
    head->part = RELAY__IN_NAME;
  }
  char *name = relay__text_extend(&head->text, size);
  for (size_t i = 0; i < size; i++) name[i] = lower(at[i]);
  head->fields[head->field_count - 1].name.count += size;
  return 0;
}

static int on_value(http_parser *parser, const char *at, size_t size) {
  relay__head_t *head = head_of(parser);
  if (head->part != RELAY__IN_VALUE) {
    relay__put(&head->text, "", 1);
    head->fields[head->field_count - 1].value.at = (void *)head->text.size;
    head->part = RELAY__IN_VALUE;
  }
  relay__put(&head->text, at, size);
  return 0;
}

static int on_whole(http_parser *parser) {
  http_parser_pause(parser, 1); /* http.c reads the body */
  return 0;
}

static const http_parser_settings settings = {.on_url = on_target,
                                              .on_header_field = on_name,
                                              .on_header_value = on_value,
                                              .on_headers_complete = on_whole};

/* Checks of a whole head */

/* Converts an offset into `text` to a pointer. */
static const char *pointer_to(const relay__head_t *head, const void *offset) {
  return head->text.at + (uintptr_t)offset;
}

relay_bytes_t relay__head_field(const relay__head_t *head, const char *name) {
  for (uint32_t i = 0; head->is_whole && i < head->field_count; i++)
    if (!strcmp(head->fields[i].name.at, name)) return head->fields[i].value;
  return (relay_bytes_t){0};
}

void relay__head_join(const relay__head_t *head, const char *name, relay__text_t *out) {
  const size_t before = out->size;
  for (uint32_t i = 0; head->is_whole && i < head->field_count; i++) {
    const relay_field_t *field = &head->fields[i];
    if (strcmp(field->name.at, name)) continue;
    if (out->size > before) relay__puts(out, ", ");
    relay__put(out, field->value.at, field->value.count);
  }
}

typedef int compare_t(const char *one, const char *other, size_t size);

static bool lists(const char *list, const char *token, compare_t *compare) {
  const size_t size = strlen(token);
  for (const char *at = list; *at;) {
    at += strspn(at, " \t,");
    const char *const item = at;
    at += strcspn(at, ",");
    const char *end = at;
    while (end > item && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if ((size_t)(end - item) == size && !compare(item, token, size)) return true;
  }
  return false;
}

static bool any_lists(const relay__head_t *head, const char *name, const char *token, compare_t *compare) {
  for (uint32_t i = 0; head->is_whole && i < head->field_count; i++)
    if (!strcmp(head->fields[i].name.at, name) && lists(head->fields[i].value.at, token, compare))
      return true;
  return false;
}

bool relay__head_lists(const relay__head_t *head, const char *name, const char *token) {
  return any_lists(head, name, token, strncasecmp);
}

bool relay__head_lists_exactly(const relay__head_t *head, const char *name, const char *token) {
  return any_lists(head, name, token, strncmp);
}

bool relay__head_is(const relay__head_t *head, const char *method) {
  return head->is_whole && !strcmp(head->method, method);
}

/* Returns the fault of a percent-encoded text, or NULL. */
static const char *escape_fault(relay_bytes_t text) {
  const char *at = text.at, *const end = at + text.count;
  for (; at < end; at++) {
    if (*at != '%') continue;
    if (end - at < 3 || relay__hex_digit(at[1]) < 0 || relay__hex_digit(at[2]) < 0)
      return "% must be followed by two hexadecimal digits";
    const int byte = relay__hex_digit(at[1]) << 4 | relay__hex_digit(at[2]);
    if (byte < ' ' || byte == 0x7f) return "the target has a control character";
  }
  return NULL;
}

static relay_bytes_t part_of(const char *target, const struct http_parser_url *url,
                             enum http_parser_url_fields field) {
  if (!(url->field_set & 1u << field)) return (relay_bytes_t){0};
  return (relay_bytes_t){target + url->field_data[field].off, url->field_data[field].len};
}

/* Reads a target that is a whole URL (RFC 9112, section 3.2.2). Its authority replaces Host. */
static relay__head_result_t read_absolute(relay__head_t *head, const char *target, size_t size) {
  struct http_parser_url url;
  http_parser_url_init(&url);
  if (http_parser_parse_url(target, size, 0, &url) || url.field_set & 1u << UF_USERINFO)
    return refuse_bad(head, "the request target is neither a path nor a URL");
  const relay_bytes_t scheme = part_of(target, &url, UF_SCHEMA);
  const bool is_http = (scheme.count == 4 && !strncasecmp(scheme.at, "http", 4)) ||
                       (scheme.count == 5 && !strncasecmp(scheme.at, "https", 5));
  if (!is_http) return refuse_bad(head, "the request target has a scheme other than http and https");
  const char *const authority = target + scheme.count + 3;
  head->host = (relay_bytes_t){authority, strcspn(authority, "/?#")};
  head->path = part_of(target, &url, UF_PATH);
  if (!head->path.count) head->path = (relay_bytes_t){"/", 1};
  head->query = part_of(target, &url, UF_QUERY);
  return RELAY__HEAD_WHOLE;
}

static relay__head_result_t read_target(relay__head_t *head) {
  const char *target = head->text.at;
  const size_t size = head->target_size;
  if (memchr(target, '#', size)) return refuse_bad(head, "the request target has a fragment");
  if (*target == '/') {
    const char *mark = memchr(target, '?', size);
    head->path = (relay_bytes_t){target, mark ? (size_t)(mark - target) : size};
    if (mark) head->query = (relay_bytes_t){mark + 1, size - head->path.count - 1};
  } else if (size == 1 && *target == '*' && relay__head_is(head, "OPTIONS")) {
    head->path = (relay_bytes_t){target, 1};
  } else if (read_absolute(head, target, size) == RELAY__HEAD_REFUSED) {
    return RELAY__HEAD_REFUSED;
  }
  if (head->path.count > MAX_PATH_SIZE)
    return refuse(head, 414, "too_large", "the path is longer than 2048 bytes");
  if (head->query.count > MAX_QUERY_SIZE)
    return refuse(head, 414, "too_large", "the query is longer than 4096 bytes");
  const char *fault = escape_fault(head->path);
  if (!fault) fault = escape_fault(head->query);
  return fault ? refuse_bad(head, fault) : RELAY__HEAD_WHOLE;
}

static relay__head_result_t read_host(relay__head_t *head) {
  const relay_bytes_t field = relay__head_field(head, "host");
  relay__host_t host;
  if (!field.at && !head->is_old) return refuse_bad(head, "the header Host is missing");
  if (field.at && !relay__host_parse(field.at, field.count, &host))
    return refuse_bad(head, "Host must be a name or an address, with an optional port");
  if (!head->host.at)
    head->host = field;
  else if (!relay__host_parse(head->host.at, head->host.count, &host))
    return refuse_bad(head,
                      "the host of the request target must be a name or an address, with an optional port");
  return RELAY__HEAD_WHOLE;
}

static relay__head_result_t check_fields(relay__head_t *head) {
  for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < head->field_count; j++)
      count += !strcmp(head->fields[j].name.at, singles[i].name);
    if (count > 1) return refuse_bad(head, singles[i].fault);
  }
  for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++) {
    size_t size = 0;
    for (uint32_t j = 0; j < head->field_count; j++)
      if (!strcmp(head->fields[j].name.at, bounded[i].name)) size += head->fields[j].value.count;
    if (size > MAX_BOUNDED_SIZE) return refuse(head, 431, "too_large", bounded[i].fault);
  }
  return RELAY__HEAD_WHOLE;
}

/* Reads the length of the body, or that it is chunked (RFC 9112, section 6). Refuses a request with both. */
static relay__head_result_t read_framing(relay__head_t *head) {
  const relay_bytes_t coding = relay__head_field(head, "transfer-encoding");
  const relay_bytes_t length = relay__head_field(head, "content-length");
  if (coding.at) {
    if (length.at) return refuse_bad(head, "the request has both Content-Length and Transfer-Encoding");
    if (head->is_old) return refuse_bad(head, "HTTP/1.0 has no Transfer-Encoding");
    if (strcasecmp(coding.at, "chunked"))
      return refuse(head, 501, "unsupported", "the only Transfer-Encoding that the relay reads is chunked");
    head->is_chunked = true;
  }
  if (length.at) {
    const char *digits = length.at;
    if (!length.count || strspn(digits, "0123456789") != length.count)
      return refuse_bad(head, "Content-Length must be digits");
    while (*digits == '0') digits++;
    if (strlen(digits) > MAX_LENGTH_DIGITS)
      return refuse(head, 413, "too_large", "the body is longer than the limit `limits.frame`");
    head->length = strtoll(digits, NULL, 10);
  }
  const relay_bytes_t expectation = relay__head_field(head, "expect");
  if (expectation.at && !head->is_old) {
    if (strcasecmp(expectation.at, "100-continue"))
      return refuse(head, 417, "unsupported", "the relay supports only Expect: 100-continue");
    head->expects_continue = head->is_chunked || head->length;
  }
  return RELAY__HEAD_WHOLE;
}

/* Turns the offsets of the fields into pointers, and checks the whole head. */
static relay__head_result_t finish(relay__head_t *head) {
  if (head->part == RELAY__IN_TARGET) relay__put(&head->text, "", 1);
  end_value(head);
  for (uint32_t i = 0; i < head->field_count; i++) {
    head->fields[i].name.at = pointer_to(head, head->fields[i].name.at);
    head->fields[i].value.at = pointer_to(head, head->fields[i].value.at);
  }
  const http_parser *parser = head->parser;
  head->is_whole = true;
  head->is_old = !parser->http_minor;
  head->method = http_method_str((enum http_method)parser->method);
  if (!parser->http_major) return refuse_bad(head, "the request line must end with HTTP/1.1 or HTTP/1.0");
  if (parser->http_major != 1)
    return refuse(head, 505, "unsupported", "the relay supports only HTTP/1.1 and HTTP/1.0 here");
  if (parser->method == HTTP_CONNECT) return refuse(head, 501, "unsupported", "the relay has no such method");
  if (read_target(head) == RELAY__HEAD_REFUSED || check_fields(head) == RELAY__HEAD_REFUSED ||
      read_host(head) == RELAY__HEAD_REFUSED || read_framing(head) == RELAY__HEAD_REFUSED)
    return RELAY__HEAD_REFUSED;
  head->keeps_alive = head->is_old ? relay__head_lists(head, "connection", "keep-alive")
                                   : !relay__head_lists(head, "connection", "close");
  head->upgrades = !head->is_old && relay__head_lists(head, "connection", "upgrade") &&
                   relay__head_lists(head, "upgrade", "websocket");
  return RELAY__HEAD_WHOLE;
}

/* Refuses a head that libhttp_parser rejects. */
static relay__head_result_t refuse_parsed(relay__head_t *head) {
  switch (HTTP_PARSER_ERRNO(head->parser)) {
  case HPE_INVALID_METHOD:
    return refuse(head, 501, "unsupported", "the relay has no such method");
  case HPE_HEADER_OVERFLOW:
    return refuse(head, 431, "too_large", "the head of the request is longer than 16384 bytes");
  case HPE_INVALID_VERSION:
  case HPE_INVALID_CONSTANT:
    return refuse_bad(head, "the request line must end with HTTP/1.1 or HTTP/1.0");
  case HPE_INVALID_CONTENT_LENGTH:
    return refuse_bad(head, "Content-Length must be digits");
  case HPE_UNEXPECTED_CONTENT_LENGTH:
    return refuse_bad(head, "Content-Length is repeated, or given together with Transfer-Encoding");
  default:
    return refuse_bad(head, "the head of the request is malformed");
  }
}

void relay__head_begin(relay__head_t *head) {
  memset(head, 0, sizeof *head);
  head->parser = relay__allocate(sizeof *head->parser);
  http_parser_init(head->parser, HTTP_REQUEST);
  head->parser->data = head;
}

void relay__head_end(relay__head_t *head) {
  free(head->parser);
  free(head->text.at);
  free(head->fields);
  memset(head, 0, sizeof *head);
}

relay__head_result_t relay__head_read(relay__head_t *head, const char *at, size_t size, size_t *used) {
  const size_t available = RELAY__HEAD_SIZE - head->read;
  *used = http_parser_execute(head->parser, &settings, at, size < available ? size : available);
  const enum http_errno error = HTTP_PARSER_ERRNO(head->parser);
  if (error == HPE_PAUSED) ++*used; /* the parser stops before the last line feed */
  const bool is_wrong = error != HPE_OK && error != HPE_PAUSED;
  /* After an error, the byte that the parser rejects is checked as well, but no later byte. So the answer
   * does not depend on the segments of TCP. */
  const char *fault = lines_fault(&head->lines, at, *used + (is_wrong && *used < size));
  head->read += (uint32_t)*used;
  if (fault == too_many_fields) return refuse(head, 431, "too_large", fault);
  if (fault) return refuse_bad(head, fault);
  if (is_wrong) return refuse_parsed(head);
  if (error == HPE_PAUSED) return finish(head);
  if (head->read < RELAY__HEAD_SIZE) return RELAY__HEAD_MORE;
  if (head->part == RELAY__IN_TARGET) return refuse(head, 414, "too_large", "the request target is too long");
  return refuse(head, 431, "too_large", "the head of the request is longer than 16384 bytes");
}
