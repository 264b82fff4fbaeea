// SPDX-License-Identifier: Apache-2.0
/* Requests as bytes on a socket, and the answers that RFC 9110, RFC 9112 and RFC 6455, section 4.2, require.
 *
 * `answers` has the status of each answer, in order. An `h` marks an answer to HEAD. The connection stays
 * open after the last answer, unless `answers` ends with `!`. If an RFC leaves a choice, `reason` names the
 * choice of the relay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host.h"
#include "peer.h"
#include "test.h"

typedef struct row {
  const char *reason, *bytes, *answers;
} row_t;

#define HOST "Host: a\r\n"
#define GET "GET /what HTTP/1.1\r\n"
#define POST "POST /echo HTTP/1.1\r\n" HOST
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define END "\r\n"
#define NEXT "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"

/* RFC 9112, sections 2, 3 and 4: the message and the request line. */
static const row_t request_lines[] = {
    {"a request", GET HOST END, "200"},
    {"an empty line before the request is ignored (2.2)", "\r\n" GET HOST END, "200"},
    {"several empty lines are ignored as well", "\r\n\r\n\r\n" GET HOST END, "200"},
    {"a line feed alone ends no line: a choice of 2.2", "GET /what HTTP/1.1\nHost: a\n\n", "400!"},
    {"a line feed alone ends no header", GET "Host: a\n\r\n", "400!"},
    {"a line feed alone ends no head", GET HOST "\n", "400!"},
    {"a carriage return alone is refused (2.2)", "GET /what HTTP/1.1\rHost: a\r\n\r\n", "400!"},
    {"a carriage return alone in a value is refused", GET "Host: a\r\nX: a\rb\r\n\r\n", "400!"},
    {"white space before the first header is refused (2.2)", GET " Host: a\r\n\r\n", "400!"},
    {"white space before the method is refused", " " GET HOST END, "400!"},
    {"a tab is no separator of the request line", "GET\t/what\tHTTP/1.1\r\n" HOST END, "400!"},
    {"two spaces are no separator (3)", "GET  /what HTTP/1.1\r\n" HOST END, "400!"},
    {"two spaces before the version are none either", "GET /what  HTTP/1.1\r\n" HOST END, "400!"},
    {"white space behind the version is refused", "GET /what HTTP/1.1 \r\n" HOST END, "400!"},
    {"a space in the target is refused (3.2)", "GET /wh at HTTP/1.1\r\n" HOST END, "400!"},
    {"a target that only begins like a version is refused", "GET /what HTTP/1.1 HTTP/1.1\r\n" HOST END,
     "400!"},
    {"a method that the relay does not know is not implemented (9110, 9.1)",
     "BREW /pot HTTP/1.1\r\n" HOST END, "501!"},
    {"methods are case-sensitive (9110, 9.1)", "get /what HTTP/1.1\r\n" HOST END, "501!"},
    {"a method is a token", "G@T /what HTTP/1.1\r\n" HOST END, "400!"},
    {"a method is a token without brackets", "G(T /what HTTP/1.1\r\n" HOST END, "400!"},
    {"a method of many letters is not implemented",
     "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ / HTTP/1.1\r\n\r\n", "501!"},
    {"CONNECT is not implemented", "CONNECT a:80 HTTP/1.1\r\n" HOST END, "501!"},
    {"a method that a resource lacks is handed over", "TRACE /what HTTP/1.1\r\n" HOST END, "200"},
    {"the preface of HTTP/2 is a method that the relay does not know", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     "501!"},
    {"a version is needed (3)", "GET /what\r\n" HOST END, "400!"},
    {"a version has a minor number", "GET /what HTTP/1\r\n" HOST END, "400!"},
    {"a version has single digits", "GET /what HTTP/1.10\r\n" HOST END, "400!"},
    {"a version is case-sensitive (2.3)", "GET /what http/1.1\r\n" HOST END, "400!"},
    {"a version is HTTP's", "GET /what HTTQ/1.1\r\n" HOST END, "400!"},
    {"a version of letters is refused", "GET /what HTTP/x.y\r\n" HOST END, "400!"},
    {"HTTP/2.0 as text is not supported (9110, 15.6.6)", "GET /what HTTP/2.0\r\n" HOST END, "505!"},
    {"HTTP/3.0 as text is not supported", "GET /what HTTP/3.0\r\n" HOST END, "505!"},
    {"HTTP/0.9 as text is refused", "GET /what HTTP/0.9\r\n" HOST END, "400!"},
    {"a higher minor version is read as the highest that is known (9110, 2.5)",
     "GET /what HTTP/1.2\r\n" HOST END, "200"},
    {"HTTP/1.0 ends the connection (9.3)", "GET /what HTTP/1.0\r\n" HOST END, "200!"},
    {"HTTP/1.0 with keep-alive goes on", "GET /what HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200"},
    {"HTTP/1.0 needs no Host", "GET /what HTTP/1.0\r\n\r\n", "200!"},
    {"bytes that are no HTTP", "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03", "400!"},
    {"letters that are no method", "hello\r\n\r\n", "501!"},
    {"a method without a target", "GET\r\n\r\n", "400!"},
    {"a control character in the target",
     "GET /wh\x01"
     "at HTTP/1.1\r\n" HOST END,
     "400!"},
    {"bytes over 0x7f in the target are to be escaped", "GET /wh\xc3\xa9t HTTP/1.1\r\n" HOST END, "400!"},
};

/* RFC 9112, section 3.2, and RFC 3986: the target and Host. */
static const row_t targets[] = {
    {"escapes are not part of the grammar of names", "GET /wh%61t HTTP/1.1\r\n" HOST END, "404"},
    {"an escaped line feed is refused", "GET /what%0AHost:b HTTP/1.1\r\n" HOST END, "400!"},
    {"an escaped carriage return is refused", "GET /what%0DHost:b HTTP/1.1\r\n" HOST END, "400!"},
    {"an escaped line end in the query is refused", "GET /what?a=%0D%0Ab HTTP/1.1\r\n" HOST END, "400!"},
    {"an escaped NUL is refused", "GET /what%00 HTTP/1.1\r\n" HOST END, "400!"},
    {"an escaped delete is refused", "GET /what%7F HTTP/1.1\r\n" HOST END, "400!"},
    {"half an escape is refused", "GET /what%4 HTTP/1.1\r\n" HOST END, "400!"},
    {"an escape without digits is refused", "GET /what% HTTP/1.1\r\n" HOST END, "400!"},
    {"an escape of other letters is refused", "GET /what%zz HTTP/1.1\r\n" HOST END, "400!"},
    {"half an escape in the query is refused", "GET /what?a=%4 HTTP/1.1\r\n" HOST END, "400!"},
    {"a query may be empty", "GET /what? HTTP/1.1\r\n" HOST END, "200"},
    {"a query may have question marks", "GET /what?a?b=c HTTP/1.1\r\n" HOST END, "200"},
    {"a fragment is no part of a target (3.2.1)", "GET /what#a HTTP/1.1\r\n" HOST END, "400!"},
    {"dots are not resolved", "GET /x/../what HTTP/1.1\r\n" HOST END, "404"},
    {"two slashes are no authority", "GET //what HTTP/1.1\r\n" HOST END, "404"},
    {"a whole URL is read (3.2.2)", "GET http://a/what HTTP/1.1\r\n" HOST END, "200"},
    {"a whole URL of https is read", "GET https://a:8443/what?x HTTP/1.1\r\n" HOST END, "200"},
    {"a scheme has any case", "GET HTTP://a/what HTTP/1.1\r\n" HOST END, "200"},
    {"a whole URL without a path", "GET http://a HTTP/1.1\r\n" HOST END, "404"},
    {"a whole URL of an address", "GET http://[::1]:80/what HTTP/1.1\r\n" HOST END, "200"},
    {"its Host may differ (3.2.2)", "GET http://a/what HTTP/1.1\r\nHost: b\r\n\r\n", "200"},
    {"a URL needs a Host beside it", "GET http://a/what HTTP/1.1\r\n\r\n", "400!"},
    {"a user in a URL is refused (9110, 4.2.4)", "GET http://me@a/what HTTP/1.1\r\n" HOST END, "400!"},
    {"a URL without a host is refused", "GET http:///what HTTP/1.1\r\n" HOST END, "400!"},
    {"a URL with a bad port is refused", "GET http://a:b/what HTTP/1.1\r\n" HOST END, "400!"},
    {"other schemes are refused", "GET ftp://a/what HTTP/1.1\r\n" HOST END, "400!"},
    {"a name alone is no target", "GET what HTTP/1.1\r\n" HOST END, "400!"},
    {"an authority is for CONNECT alone", "GET a:80 HTTP/1.1\r\n" HOST END, "400!"},
    {"an asterisk is for OPTIONS alone (3.2.4)", "GET * HTTP/1.1\r\n" HOST END, "400!"},
    {"OPTIONS of the server is handed over", "OPTIONS * HTTP/1.1\r\n" HOST END, "404"},
    {"Host is needed (3.2)", GET END, "400!"},
    {"Host is single (3.2)", GET HOST HOST END, "400!"},
    {"Host is single, also when the values differ", GET HOST "Host: b\r\n\r\n", "400!"},
    {"an empty Host is refused: a choice of 3.2", GET "Host:\r\n\r\n", "400!"},
    {"a Host has no space", GET "Host: a b\r\n\r\n", "400!"},
    {"a Host is no list", GET "Host: a, b\r\n\r\n", "400!"},
    {"a Host has no user", GET "Host: me@a\r\n\r\n", "400!"},
    {"a Host has no path", GET "Host: a/b\r\n\r\n", "400!"},
    {"a port is digits", GET "Host: a:b\r\n\r\n", "400!"},
    {"a port ends at 65535", GET "Host: a:65536\r\n\r\n", "400!"},
    {"a Host may have a port", GET "Host: a:8080\r\n\r\n", "200"},
    {"a Host may be an address", GET "Host: [::1]:80\r\n\r\n", "200"},
    {"white space around Host does not count", GET "Host: \t a \t \r\n\r\n", "200"},
    {"names have any case", GET "hOST:a\r\n\r\n", "200"},
};

/* RFC 9112, section 5, and RFC 9110, section 5: fields. */
static const row_t fields[] = {
    {"a value may be empty", GET HOST "X:\r\n\r\n", "200"},
    {"a value may be white space", GET HOST "X: \t \r\n\r\n", "200"},
    {"a value may have bytes over 0x7f (9110, 5.5)", GET HOST "X: \xc3\xa9\r\n\r\n", "200"},
    {"a name may be any token", GET HOST "!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n", "200"},
    {"white space before the colon is refused (5.1)", GET HOST "X : y\r\n\r\n", "400!"},
    {"a tab before the colon is refused", GET HOST "X\t: y\r\n\r\n", "400!"},
    {"white space before the colon of Host is refused", GET "Host : a\r\n\r\n", "400!"},
    {"a name has no space", GET HOST "X Y: z\r\n\r\n", "400!"},
    {"a name is not empty", GET HOST ": y\r\n\r\n", "400!"},
    {"a name has no brackets", GET HOST "X(y): z\r\n\r\n", "400!"},
    {"a name has no bytes over 0x7f", GET HOST "X\xc3\xa9: z\r\n\r\n", "400!"},
    {"a line needs a colon", GET HOST "nothing\r\n\r\n", "400!"},
    {"a folded line is refused (5.2)", GET HOST "X: a\r\n b\r\n\r\n", "400!"},
    {"a line folded by a tab is refused", GET HOST "X: a\r\n\tb\r\n\r\n", "400!"},
    {"a folded Host is refused", GET "Host: a\r\n b\r\n\r\n", "400!"},
    {"a folded empty line is refused", GET HOST "X: a\r\n \r\n\r\n", "400!"},
    {"a folded length is refused", POST "Content-Length:\r\n 1\r\n\r\nx", "400!"},
    {"a control character in a value is refused (9110, 5.5)",
     GET HOST "X: a\x01"
              "b\r\n\r\n",
     "400!"},
    {"a delete in a value is refused", GET HOST "X: a\x7f\r\n\r\n", "400!"},
    {"a tab in a value is fine", GET HOST "X: a\tb\r\n\r\n", "200"},
    {"a name that is the begin of another name", GET HOST "X-Auth: a\r\n\r\n", "200"},
    {"more names that are the begin of other names",
     GET HOST "User: a\r\nContent: a\r\nSec: a\r\nAccept-: a\r\n\r\n", "200"},
    {"Authorization is single", GET HOST "Authorization: Bearer a\r\nAuthorization: Bearer a\r\n\r\n",
     "400!"},
    {"Content-Type is single", POST "Content-Type: a/b\r\nContent-Type: a/b\r\nContent-Length: 0\r\n\r\n",
     "400!"},
    {"Origin is single", GET HOST "Origin: http://a\r\nOrigin: http://a\r\n\r\n", "400!"},
    {"Idempotency-Key is single", GET HOST "Idempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n", "400!"},
    {"a list may come in several fields (9110, 5.3)",
     GET HOST "Accept-Encoding: gzip\r\nAccept-Encoding: br\r\n\r\n", "200"},
    {"another page's Origin is refused", GET HOST "Origin: http://evil.example\r\n\r\n", "403!"},
    {"a header like a request line is a header without a colon", GET HOST "GET /what HTTP/1.1\r\n\r\n",
     "400!"},
    {"a header that begins like a version", GET HOST "HTTP/1.1 x\r\n\r\n", "400!"},
};

/* RFC 9112, sections 6 and 7, and RFC 9110, section 10.1.1: bodies. */
static const row_t bodies[] = {
    {"a length", POST "Content-Length: 3\r\n\r\nabc", "200"},
    {"a length of 0", POST "Content-Length: 0\r\n\r\n", "200"},
    {"a length with zeros before it", POST "Content-Length: 0003\r\n\r\nabc", "200"},
    {"without a length there is no body (6.3)", POST END NEXT, "200 204"},
    {"GET may have a body", GET HOST "Content-Length: 3\r\n\r\nabc" NEXT, "200 204"},
    {"DELETE may have a body", "DELETE /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc" NEXT,
     "200 204"},
    {"HEAD has no body in its answer (9110, 9.3.2)", "HEAD /what HTTP/1.1\r\n" HOST END NEXT, "h200 204"},
    {"a length is digits", POST "Content-Length: +1\r\n\r\nx", "400!"},
    {"a length is not negative", POST "Content-Length: -1\r\n\r\nx", "400!"},
    {"a length is decimal", POST "Content-Length: 0x1\r\n\r\nx", "400!"},
    {"a length has no unit", POST "Content-Length: 1b\r\n\r\nx", "400!"},
    {"a length is not empty", POST "Content-Length:\r\n\r\n", "400!"},
    {"a length is no list, also of equal ones: a choice of 6.3", POST "Content-Length: 1, 1\r\n\r\nx",
     "400!"},
    {"a length has no space in it", POST "Content-Length: 1 1\r\n\r\nx", "400!"},
    {"a length has no quotes", POST "Content-Length: \"1\"\r\n\r\nx", "400!"},
    {"a length that overflows", POST "Content-Length: 18446744073709551616\r\n\r\nx", "400!"},
    {"a length over the limit (9110, 15.5.14)", POST "Content-Length: 999999999999\r\n\r\n", "413!"},
    {"two lengths", POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", "400!"},
    {"two equal lengths", POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", "400!"},
    {"chunks", POST CHUNKED END "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "200"},
    {"no chunk but the last", POST CHUNKED END "0\r\n\r\n", "200"},
    {"a coding has any case", POST "Transfer-Encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n", "200"},
    {"sizes are hexadecimal", POST CHUNKED END "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "200"},
    {"a size may have zeros before it", POST CHUNKED END "0003\r\nabc\r\n000\r\n\r\n", "200"},
    {"extensions are ignored (7.1.1)", POST CHUNKED END "3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n", "200"},
    {"white space before an extension", POST CHUNKED END "3 ;a\r\nabc\r\n0\r\n\r\n", "200"},
    {"letters behind the white space of a size", POST CHUNKED END "2 6\r\n{}\r\n0\r\n\r\n", "400!"},
    {"white space without an extension", POST CHUNKED END "2 \r\n{}\r\n0\r\n\r\n", "400!"},
    {"trailers are ignored (7.1.2)", POST CHUNKED END "1\r\nx\r\n0\r\nX: y\r\nZ: z\r\n\r\n", "200"},
    {"a trailer changes no framing", POST CHUNKED END "1\r\nx\r\n0\r\nContent-Length: 9\r\n\r\n" NEXT,
     "200 204"},
    {"a size is needed", POST CHUNKED END "\r\nabc\r\n0\r\n\r\n", "400!"},
    {"a size is hexadecimal digits", POST CHUNKED END "g\r\nabc\r\n", "400!"},
    {"a size has no sign", POST CHUNKED END "-1\r\nx\r\n", "400!"},
    {"a size has no prefix", POST CHUNKED END "0x3\r\nabc\r\n", "400!"},
    {"a size has no white space before it", POST CHUNKED END " 3\r\nabc\r\n", "400!"},
    {"a size that overflows", POST CHUNKED END "10000000000000000\r\n", "413!"},
    {"a size over the limit", POST CHUNKED END "fffffff\r\n", "413!"},
    {"a line feed alone ends no size", POST CHUNKED END "3\nabc\r\n0\r\n\r\n", "400!"},
    {"a line feed alone ends no extension", POST CHUNKED END "3;a\nabc\r\n0\r\n\r\n", "400!"},
    {"a carriage return alone ends no size", POST CHUNKED END "3\rabc\r\n0\r\n\r\n", "400!"},
    {"data is as long as its size", POST CHUNKED END "2\r\nabc\r\n0\r\n\r\n", "400!"},
    {"data ends with a line end", POST CHUNKED END "3\r\nabc0\r\n\r\n", "400!"},
    {"data ends with a whole line end", POST CHUNKED END "3\r\nabc\n0\r\n\r\n", "400!"},
    {"a folded trailer", POST CHUNKED END "0\r\n X: y\r\n\r\n", "400!"},
    {"a trailer without a line end", POST CHUNKED END "0\r\nX: y\n\r\n", "400!"},
    {"other codings are not implemented (6.1)", POST "Transfer-Encoding: gzip\r\n\r\n", "501!"},
    {"a coding before chunked is not implemented", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
     "501!"},
    {"chunked is the last coding", POST "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "501!"},
    {"identity is no coding", POST "Transfer-Encoding: identity\r\n\r\n", "501!"},
    {"100-continue", POST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc", "200"},
    {"an expectation has any case", POST "Content-Length: 3\r\nExpect: 100-Continue\r\n\r\nabc", "200"},
    {"100-continue with chunks", POST CHUNKED "Expect: 100-continue\r\n\r\n1\r\nx\r\n0\r\n\r\n", "200"},
    {"100-continue without a body is ignored (9110, 10.1.1)", GET HOST "Expect: 100-continue\r\n\r\n", "200"},
    {"100-continue of HTTP/1.0 is ignored",
     "POST /echo HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx", "200!"},
    {"no 100 (Continue) for a refused body", POST "Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n",
     "413!"},
    {"other expectations fail (9110, 15.5.18)", GET HOST "Expect: gifts\r\n\r\n", "417!"},
};

/* RFC 9112, section 11.2: requests that a proxy could split in another way than the relay (smuggling). */
static const row_t smuggling[] = {
    {"CL.TE", POST "Content-Length: 6\r\n" CHUNKED END "0\r\n\r\nGET", "400!"},
    {"TE.CL", POST CHUNKED "Content-Length: 4\r\n\r\n12\r\nGET /what HTTP/1.1\r\n\r\n0\r\n\r\n", "400!"},
    {"TE.TE, two codings", POST CHUNKED "Transfer-Encoding: x\r\n\r\n0\r\n\r\n", "400!"},
    {"TE.TE, twice the same", POST CHUNKED CHUNKED END "0\r\n\r\n", "400!"},
    {"a coding with a space before the colon",
     POST "Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\nabc", "400!"},
    {"a coding behind a tab", POST "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n", "200"},
    {"a coding behind a vertical tab",
     POST "Transfer-Encoding: \x0b"
          "chunked\r\nContent-Length: 3\r\n\r\nabc",
     "400!"},
    {"a coding in quotes", POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", "501!"},
    {"a coding with letters behind it", POST "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n", "501!"},
    {"a folded coding", POST "Transfer-Encoding:\r\n chunked\r\nContent-Length: 3\r\n\r\nabc", "400!"},
    {"a coding in a folded line of another field", POST "X: y\r\n Transfer-Encoding: chunked\r\n\r\n",
     "400!"},
    {"a coding of HTTP/1.0 (6.1)", "POST /echo HTTP/1.0\r\n" HOST CHUNKED END "0\r\n\r\n", "400!"},
    {"an empty coding", POST "Transfer-Encoding:\r\nContent-Length: 3\r\n\r\nabc", "400!"},
    {"a length with a sign beside one without", POST "Content-Length: 3\r\nContent-Length: +3\r\n\r\nabc",
     "400!"},
    {"a length in the middle of a list", POST "Content-Length: 3,\r\n\r\nabc", "400!"},
    {"a header behind a bare line feed",
     POST "X: y\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", "400!"},
    {"a header behind a bare carriage return",
     POST "X: y\rTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", "400!"},
    {"a request in a body is a body",
     POST "Content-Length: 36\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n\r\n", "200"},
    {"a request behind an announced body of 0", POST "Content-Length: 0\r\n\r\n" NEXT, "200 204"},
};

/* RFC 9112, section 9: connections. */
static const row_t connections[] = {
    {"a pipeline is answered in its order (9.3.2)", NEXT GET HOST END NEXT, "204 200 204"},
    {"a pipeline of bodies", POST "Content-Length: 3\r\n\r\nabc" POST "Content-Length: 2\r\n\r\nde" NEXT,
     "200 200 204"},
    {"a pipeline of chunks", POST CHUNKED END "1\r\nx\r\n0\r\n\r\n" POST CHUNKED END "0\r\n\r\n" NEXT,
     "200 200 204"},
    {"a pipeline with empty lines between requests", NEXT "\r\n" NEXT "\r\n\r\n" NEXT, "204 204 204"},
    {"a pipeline ends with a refusal", NEXT "BAD\r\n\r\n" NEXT, "204 501!"},
    {"nothing behind close is read (9.6)", "GET /nothing HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n" NEXT,
     "204!"},
    {"close has any case", "GET /nothing HTTP/1.1\r\n" HOST "Connection: Close\r\n\r\n", "204!"},
    {"close in a list", "GET /nothing HTTP/1.1\r\n" HOST "Connection: x, close\r\n\r\n", "204!"},
    {"close in a second field", "GET /nothing HTTP/1.1\r\n" HOST "Connection: x\r\nConnection: close\r\n\r\n",
     "204!"},
    {"a word that contains close", "GET /nothing HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n", "204"},
    {"close of HTTP/1.0 with keep-alive", "GET /nothing HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" NEXT,
     "204 204"},
    {"an error of the resource keeps the connection", "GET /absent HTTP/1.1\r\n" HOST END NEXT, "404 204"},
    {"an upgrade to another protocol is ignored (9110, 7.8)",
     GET HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" NEXT, "200 204"},
};

#define UPGRADE "GET /v1/connect HTTP/1.1\r\n" HOST
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define UPGRADES "Upgrade: websocket\r\nConnection: Upgrade\r\n"

/* RFC 6455, section 4.2.1: the client's handshake. */
static const row_t handshakes[] = {
    {"a handshake", UPGRADE UPGRADES KEY VERSION END, "101"},
    {"HTTP/1.2 is read as 1.1", "GET /v1/connect HTTP/1.2\r\n" HOST UPGRADES KEY VERSION END, "101"},
    {"names and tokens have any case",
     UPGRADE "upgrade: WebSocket\r\nconnection: upgrade\r\n" KEY VERSION END, "101"},
    {"Connection may list more",
     UPGRADE "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" KEY VERSION END, "101"},
    {"Upgrade may list more", UPGRADE "Upgrade: h2c, websocket\r\nConnection: Upgrade\r\n" KEY VERSION END,
     "101"},
    {"a handshake in a whole URL", "GET http://a/v1/connect HTTP/1.1\r\n" HOST UPGRADES KEY VERSION END,
     "101"},
    {"a handshake with a query", "GET /v1/connect?a=b HTTP/1.1\r\n" HOST UPGRADES KEY VERSION END, "101"},
    {"a handshake behind a request", NEXT UPGRADE UPGRADES KEY VERSION END, "204 101"},
    {"a known subprotocol", UPGRADE UPGRADES KEY VERSION "Sec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n",
     "101"},
    {"a known subprotocol among others",
     UPGRADE UPGRADES KEY VERSION "Sec-WebSocket-Protocol: a, stillwire.v1.json\r\n\r\n", "101"},
    {"subprotocols in two fields",
     UPGRADE UPGRADES KEY VERSION
     "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n",
     "101"},
    {"an empty list of subprotocols", UPGRADE UPGRADES KEY VERSION "Sec-WebSocket-Protocol:\r\n\r\n", "101"},
    {"extensions are offers",
     UPGRADE UPGRADES KEY VERSION "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "101"},
    {"unknown fields are ignored (item 10)", UPGRADE UPGRADES KEY VERSION "X: y\r\nCookie: a=b\r\n\r\n",
     "101"},
    {"an empty Origin is none", UPGRADE UPGRADES KEY VERSION "Origin:\r\n\r\n", "101"},
    {"an Origin of the server", UPGRADE UPGRADES KEY VERSION "Origin: http://a\r\n\r\n", "101"},
    {"an Origin of another server (item 8)",
     UPGRADE UPGRADES KEY VERSION "Origin: http://evil.example\r\n\r\n", "403!"},
    {"the Origin null", UPGRADE UPGRADES KEY VERSION "Origin: null\r\n\r\n", "403!"},
    {"Host is needed (item 2)", "GET /v1/connect HTTP/1.1\r\n" UPGRADES KEY VERSION END, "400!"},
    {"a handshake is a GET (item 1)",
     "POST /v1/connect HTTP/1.1\r\n" HOST UPGRADES KEY VERSION "Content-Length: 0\r\n\r\n", "404!"},
    {"a handshake has its path", "GET /v1/other HTTP/1.1\r\n" HOST UPGRADES KEY VERSION END, "404!"},
    {"without Upgrade it is a request (item 3)", UPGRADE "Connection: Upgrade\r\n" KEY VERSION END, "404"},
    {"without Connection it is a request (item 4)", UPGRADE "Upgrade: websocket\r\n" KEY VERSION END, "404"},
    {"HTTP/1.0 has no upgrade (item 1)", "GET /v1/connect HTTP/1.0\r\n" HOST UPGRADES KEY VERSION END,
     "404!"},
    {"the key is needed (item 5)", UPGRADE UPGRADES VERSION END, "400!"},
    {"the key is not empty", UPGRADE UPGRADES VERSION "Sec-WebSocket-Key:\r\n\r\n", "400!"},
    {"the key is 16 bytes", UPGRADE UPGRADES VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n\r\n", "400!"},
    {"the key is not 17 bytes",
     UPGRADE UPGRADES VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTE=\r\n\r\n", "400!"},
    {"the key is base64", UPGRADE UPGRADES VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j*Q==\r\n\r\n",
     "400!"},
    {"the key is single", UPGRADE UPGRADES VERSION KEY KEY END, "400!"},
    {"the version is needed (item 6)", UPGRADE UPGRADES KEY END, "426!"},
    {"the version is 13 (4.4)", UPGRADE UPGRADES KEY "Sec-WebSocket-Version: 8\r\n\r\n", "426!"},
    {"the version is no list", UPGRADE UPGRADES KEY "Sec-WebSocket-Version: 13, 8\r\n\r\n", "426!"},
    {"the version is single", UPGRADE UPGRADES KEY VERSION VERSION END, "400!"},
    {"an unknown subprotocol: a choice of item 7",
     UPGRADE UPGRADES KEY VERSION "Sec-WebSocket-Protocol: other\r\n\r\n", "400!"},
    {"a subprotocol is case-sensitive",
     UPGRADE UPGRADES KEY VERSION "Sec-WebSocket-Protocol: Stillwire.v1.json\r\n\r\n", "400!"},
    {"a handshake has no body", UPGRADE UPGRADES KEY VERSION "Content-Length: 1\r\n\r\nx", "400!"},
    {"a handshake has no chunks", UPGRADE UPGRADES KEY VERSION CHUNKED END "0\r\n\r\n", "400!"},
};

/* Reads the answers, and returns them in the form of a row. */
static void read_answers(peer_t *peer, const char *expected, char *at, size_t capacity) {
  *at = 0;
  for (const char *next = expected; *next;) {
    const bool is_head = *next == 'h';
    int status;
    do status = peer_response(peer, is_head);
    while (status == 100);
    snprintf(at + strlen(at), capacity - strlen(at), "%s%s%d", *at ? " " : "", is_head ? "h" : "", status);
    next += strcspn(next, " ");
    next += *next == ' ';
    if (status == 101 || !status) return;
  }
  if (peer->headers && strstr(peer->headers, "Connection: close") && peer_sees_end(peer)) {
    snprintf(at + strlen(at), capacity - strlen(at), "!");
    return;
  }
  peer_print(peer, NEXT);
  if (peer_response(peer, false) != 204) snprintf(at + strlen(at), capacity - strlen(at), " and no more");
}

static bool plays(const host_t *host, const row_t *row, size_t step) {
  char answers[128];
  const size_t size = strlen(row->bytes);
  peer_t *peer = peer_dial(host_port(host));
  for (size_t i = 0; i < size; i += step) peer_write(peer, row->bytes + i, size - i < step ? size - i : step);
  read_answers(peer, row->answers, answers, sizeof answers);
  const bool is_as_expected = EXPECT_TEXT(answers, row->answers);
  if (!is_as_expected) printf("  %s%s\n", row->reason, step == 1 ? ", a byte a write" : "");
  peer_cut(peer);
  return is_as_expected;
}

/* Sends each row with one write, and then with one write for each byte. */
static void play_rows(const row_t *rows, size_t count) {
  host_t *host = host_start(NULL);
  for (size_t i = 0; i < count; i++)
    if (plays(host, &rows[i], SIZE_MAX / 2)) plays(host, &rows[i], 1);
  host_end(host);
}
#define PLAY(rows) play_rows(rows, sizeof rows / sizeof *rows)

TEST(play_request_lines, "http cases: request lines") {
  PLAY(request_lines);
}

TEST(play_targets, "http cases: targets and Host") {
  PLAY(targets);
}

TEST(play_fields, "http cases: fields") {
  PLAY(fields);
}

TEST(play_bodies, "http cases: bodies") {
  PLAY(bodies);
}

TEST(play_smuggling, "http cases: request smuggling") {
  PLAY(smuggling);
}

TEST(play_connections, "http cases: connections") {
  PLAY(connections);
}

TEST(play_handshakes, "http cases: handshakes") {
  PLAY(handshakes);
}

TEST(cut_everywhere, "http cases: requests that are split at any byte get the same answers") {
  static const row_t rows[] = {
      {"a pipeline",
       POST CHUNKED END "3;a\r\nabc\r\n0\r\nX: y\r\n\r\n" POST "Content-Length: 3\r\n\r\nabc" NEXT,
       "200 200 204"},
      {"a handshake", NEXT UPGRADE UPGRADES KEY VERSION END, "204 101"},
      {"a refusal", GET HOST "X: y\r\n z\r\n\r\n", "400!"},
  };
  host_t *host = host_start(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t cut = 1; cut < strlen(rows[i].bytes); cut++) {
      char answers[128];
      peer_t *peer = peer_dial(host_port(host));
      peer_write(peer, rows[i].bytes, cut);
      peer_write(peer, rows[i].bytes + cut, strlen(rows[i].bytes) - cut);
      read_answers(peer, rows[i].answers, answers, sizeof answers);
      if (!EXPECT_TEXT(answers, rows[i].answers)) printf("  %s, cut at %zu\n", rows[i].reason, cut);
      peer_cut(peer);
    }
  host_end(host);
}

/* A row is a C string, so it cannot contain a NUL. */
TEST(nul, "http cases: a NUL is refused at each position") {
  static const struct {
    const char *before, *behind;
  } rows[] = {{"", GET HOST END},
              {"G", "ET /what HTTP/1.1\r\n" HOST END},
              {"GET /wh", "at HTTP/1.1\r\n" HOST END},
              {"GET /what HTTP/1.1", "\r\n" HOST END},
              {GET "Ho", "st: a\r\n\r\n"},
              {GET "Host: a", "\r\n\r\n"},
              {GET HOST "X: y", "z\r\n\r\n"}};
  host_t *host = host_start(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_write(peer, rows[i].before, strlen(rows[i].before));
    peer_write(peer, "", 1);
    peer_write(peer, rows[i].behind, strlen(rows[i].behind));
    if (!EXPECT_INTEGER(peer_response(peer, false), 400)) printf("  row %zu\n", i);
    EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  host_end(host);
}

static void is_bounded(const host_t *host, const char *before, char fill, size_t count, const char *behind,
                       int status) {
  char *text = malloc(count + 1);
  memset(text, fill, count);
  text[count] = 0;
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "%s%s%s", before, text, behind);
  if (!EXPECT_INTEGER(peer_response(peer, false), status))
    printf("  %zu bytes behind %.40s\n", count, before);
  peer_cut(peer);
  free(text);
}

TEST(bounds, "http cases: each part of a request has a bound, and a status for it") {
  host_t *host = host_start(NULL);
  is_bounded(host, "GET /", 'a', 20000, " HTTP/1.1\r\n" HOST END, 414);
  is_bounded(host, "GET /what?", 'a', 20000, " HTTP/1.1\r\n" HOST END, 414);
  is_bounded(host, GET HOST "X: ", 'a', 16000, "\r\n\r\n", 200);
  is_bounded(host, GET HOST "X: ", 'a', 20000, "\r\n\r\n", 431);
  is_bounded(host, GET HOST, 'a', 20000, ": x\r\n\r\n", 431);
  is_bounded(host, GET HOST "X: ", 'a', 1000000, "\r\n\r\n", 431);
  is_bounded(host, POST CHUNKED END "1;", 'a', 4000, "\r\nx\r\n0\r\n\r\n", 200);
  is_bounded(host, POST CHUNKED END "1;", 'a', 5000, "\r\nx\r\n0\r\n\r\n", 413);
  is_bounded(host, POST CHUNKED END "1\r\nx\r\n0\r\nX: ", 'a', 5000, "\r\n\r\n", 413);
  is_bounded(host, POST CHUNKED END, '0', 40, "\r\n\r\n", 400);
  char many[8192] = GET HOST;
  for (int i = 0; i < 99; i++) strcat(many, "X: y\r\n");
  is_bounded(host, many, 'a', 0, "\r\n", 200);
  is_bounded(host, many, 'X', 1, ": y\r\n\r\n", 431);
  is_bounded(host, many, 'X', 1, "(: y\r\n\r\n", 431); /* the bound counts before the name is checked */
  host_end(host);
}
