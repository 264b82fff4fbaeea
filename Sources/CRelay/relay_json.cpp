// SPDX-License-Identifier: Apache-2.0
// The parser of relay_json.h, on RapidJSON's SAX reader. It is the only C++ file.
//
// RapidJSON rejects two kinds of values that RFC 8259 allows: numbers beyond a double, and half of a
// surrogate pair. If it meets one, the parser replaces them in a copy of the source (tame()), and reads the
// copy.
#include "relay_json.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace {

using Source = rapidjson::MemoryStream;

uint64_t hash_of(const char *at, size_t length) {
  uint64_t hash = 1469598103934665603u; // FNV-1a
  for (size_t i = 0; i < length; i++) hash = (hash ^ static_cast<unsigned char>(at[i])) * 1099511628211u;
  return hash;
}

bool is_space(uint8_t byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// True if decoded text has half of a surrogate pair. It comes from an escape such as `\udc00`: RapidJSON
// rejects the raw bytes as invalid UTF-8.
bool has_surrogate(const char *at, size_t length) {
  const char *const end = at + length;
  while (at < end && (at = static_cast<const char *>(std::memchr(at, 0xed, end - at))))
    if (++at < end && static_cast<unsigned char>(*at) >= 0xa0) return true;
  return false;
}

// Returns the end of the number at `begin`, or `begin` if there is no number.
char *number_end(char *begin, char *end) {
  char *at = begin;
  const auto skip = [&](const char *any) {
    return at < end && *at && std::strchr(any, *at) ? ++at : nullptr;
  };
  const auto skip_digits = [&] {
    char *const first = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at > first;
  };
  skip("-");
  if (!skip("0") && !skip_digits()) return begin;
  if (skip(".") && !skip_digits()) return begin;
  if (skip("eE")) {
    skip("+-");
    if (!skip_digits()) return begin;
  }
  return at;
}

// Returns the value of four hexadecimal digits, or -1.
int unit_at(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    const char c = at[i], lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9')
      value = value * 16 + c - '0';
    else if (lower >= 'a' && lower <= 'f')
      value = value * 16 + lower - 'a' + 10;
    else
      return -1;
  }
  return value;
}

bool is_in(int value, int first, int last) {
  return value >= first && value <= last;
}

// Returns the size of the escape sequence at `at`. Replaces half of a surrogate pair with U+FFFD.
size_t tame_escape(char *at, const char *end, bool &is_half) {
  is_half = false;
  if (end - at < 2) return 1;
  if (at[1] != 'u') return 2;
  const int unit = unit_at(at + 2, end);
  if (!is_in(unit, 0xd800, 0xdfff)) return 2;
  if (unit <= 0xdbff && end - at >= 12 && at[6] == '\\' && at[7] == 'u' &&
      is_in(unit_at(at + 8, end), 0xdc00, 0xdfff))
    return 12;
  is_half = true;
  std::memcpy(at + 2, "fffd", 4);
  return 6;
}

// Replaces the values that RapidJSON rejects although RFC 8259 allows them: a number that may be beyond a
// double becomes zeros, and half of a surrogate pair becomes U+FFFD. Lengths do not change, so all offsets
// stay valid. Text that is no number stays invalid. Returns the offset of the first half, or SIZE_MAX.
size_t tame(char *const begin, size_t size) {
  char *at = begin, *const end = begin + size;
  size_t first_half = SIZE_MAX;
  while (at < end) {
    if (*at == '"') {
      for (at++; at < end && *at != '"';) {
        bool is_half = false;
        const size_t step = *at == '\\' ? tame_escape(at, end, is_half) : 1;
        if (is_half && first_half == SIZE_MAX) first_half = static_cast<size_t>(at - begin);
        at += step;
      }
      if (at < end) at++;
      continue;
    }
    char *const last = number_end(at, end);
    if (last == at) { // skip digits that begin no number as a whole, so that each is scanned only once
      const bool is_digit = *at++ >= '0' && at[-1] <= '9';
      while (is_digit && at < end && *at >= '0' && *at <= '9') at++;
      continue;
    }
    char *const digits = *at == '-' ? at + 1 : at;
    const bool is_whole =
        last == end || is_space(static_cast<uint8_t>(*last)) || *last == ',' || *last == ']' || *last == '}';
    if (last - digits > 2 && is_whole) {
      std::memset(digits, '0', last - digits);
      digits[1] = '.';
    }
    at = last;
  }
  return first_half;
}

} // namespace

struct relay_json_parser {
  rapidjson::Reader reader;
  std::vector<relay_json_node_t> nodes;
  std::vector<char> text;
  std::vector<char> tamed;         // the copy of the source that tame() has changed
  std::vector<uint64_t> keys;      // hashes of the keys of all open objects
  std::vector<uint32_t> open;      // nodes of arrays and objects that are not closed yet
  std::vector<uint32_t> first_key; // for each open object, the index of its first hash in `keys`
};

namespace {

// The handler of RapidJSON's SAX events. It builds the nodes. Values inside a raw value only count for the
// depth.
struct Builder {
  typedef char Ch;
  relay_json_parser &parser;
  const Source &stream;
  const uint8_t *source;
  const uint32_t deepest;
  relay_json_status_t status = RELAY_JSON_OK;
  size_t offset = 0; // the position of the error in `status`
  uint32_t depth = 0;
  uint32_t raw_depth = 0; // the depth at which the raw value began; 0: not inside one
  uint32_t key = 0, key_length = 0, key_end = 0;
  bool raw_is_next = false;
  bool has_half = false; // a string has half of a surrogate pair

  bool Null() { return scalar(RELAY_JSON_NULL, nullptr, 0); }
  bool Bool(bool value) { return scalar(value ? RELAY_JSON_TRUE : RELAY_JSON_FALSE, nullptr, 0); }
  bool RawNumber(const char *, rapidjson::SizeType length, bool) {
    // The digits are read from the source, because the reader may have a changed copy.
    return scalar(RELAY_JSON_NUMBER, reinterpret_cast<const char *>(source) + stream.Tell() - length, length);
  }
  bool String(const char *at, rapidjson::SizeType length, bool) {
    if (has_surrogate(at, length)) return meet_half();
    return scalar(RELAY_JSON_STRING, at, length);
  }
  // Never called: with kParseNumbersAsStringsFlag the reader calls RawNumber().
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  bool StartObject() { return start(RELAY_JSON_OBJECT); }
  bool StartArray() { return start(RELAY_JSON_ARRAY); }
  bool EndArray(rapidjson::SizeType) { return finish(); }
  bool EndObject(rapidjson::SizeType) {
    if (!raw_depth) {
      parser.keys.resize(parser.first_key.back());
      parser.first_key.pop_back();
    }
    return finish();
  }

  bool Key(const char *at, rapidjson::SizeType length, bool) {
    if (has_surrogate(at, length)) return meet_half();
    if (raw_depth) return true;
    const uint64_t hash = hash_of(at, length);
    for (size_t i = parser.first_key.back(); i < parser.keys.size(); i++)
      if (parser.keys[i] == hash) note(RELAY_JSON_TWICE);
    // The comparison of each pair of keys takes quadratic time, so the number of keys is bounded.
    if (parser.keys.size() - parser.first_key.back() >= 1024)
      note(RELAY_JSON_TOO_MANY);
    else
      parser.keys.push_back(hash);
    key = append(at, length);
    key_length = length;
    key_end = static_cast<uint32_t>(stream.Tell());
    raw_is_next = depth == 1 && length == 4 && std::memcmp(at, "body", 4) == 0;
    return true;
  }

private:
  bool fail(relay_json_status_t why) {
    status = why;
    offset = stream.Tell();
    return false;
  }

  // Ends this run of the reader. The next run reads a changed copy.
  bool meet_half() {
    has_half = true;
    return fail(RELAY_JSON_SYNTAX);
  }

  // Stores an error of text that is valid JSON. The reader continues, to check the syntax of the rest and to
  // find the `id` for the answer.
  void note(relay_json_status_t why) {
    if (status != RELAY_JSON_OK) return;
    status = why;
    offset = stream.Tell();
  }

  uint32_t append(const char *at, size_t length) {
    const uint32_t offset = static_cast<uint32_t>(parser.text.size());
    if (length) parser.text.insert(parser.text.end(), at, at + length);
    return offset;
  }

  relay_json_node_t &node(relay_json_kind_t kind) {
    relay_json_node_t made = {};
    made.kind = kind;
    made.key = key;
    made.key_length = key_length;
    if (depth == 1) {
      uint32_t at = key_end;
      while (is_space(source[at])) at++;
      at++; // the colon
      while (is_space(source[at])) at++;
      made.start = at;
    }
    key_length = 0;
    made.next = static_cast<uint32_t>(parser.nodes.size() + 1);
    parser.nodes.push_back(made);
    return parser.nodes.back();
  }

  bool scalar(relay_json_kind_t kind, const char *at, size_t length) {
    if (depth == 0) return fail(RELAY_JSON_NOT_OBJECT);
    if (raw_depth) return true;
    relay_json_node_t &made = node(raw_is_next ? RELAY_JSON_RAW : kind);
    if (!raw_is_next) {
      made.text = append(at, length);
      made.length = static_cast<uint32_t>(length);
    }
    made.end = static_cast<uint32_t>(stream.Tell());
    raw_is_next = false;
    return true;
  }

  bool start(relay_json_kind_t kind) {
    if (depth == 0 && kind != RELAY_JSON_OBJECT) return fail(RELAY_JSON_NOT_OBJECT);
    if (depth >= deepest) {
      note(RELAY_JSON_TOO_DEEP);
      raw_is_next = !raw_depth; // deeper values get no nodes
    }
    if (!raw_depth) {
      node(raw_is_next ? RELAY_JSON_RAW : kind);
      parser.open.push_back(static_cast<uint32_t>(parser.nodes.size() - 1));
      if (raw_is_next)
        raw_depth = depth + 1;
      else if (kind == RELAY_JSON_OBJECT)
        parser.first_key.push_back(static_cast<uint32_t>(parser.keys.size()));
      raw_is_next = false;
    }
    depth++;
    return true;
  }

  bool finish() {
    if (!raw_depth || raw_depth == depth) {
      relay_json_node_t &made = parser.nodes[parser.open.back()];
      made.next = static_cast<uint32_t>(parser.nodes.size());
      made.end = static_cast<uint32_t>(stream.Tell() + 1); // the reader has not consumed the bracket yet
      parser.open.pop_back();
      raw_depth = 0;
    }
    depth--;
    return true;
  }
};

} // namespace

relay_json_parser_t *relay_json_parser_create(void) {
  return new (std::nothrow) relay_json_parser;
}

void relay_json_parser_destroy(relay_json_parser_t *parser) {
  delete parser;
}

// Reads `bytes`: those of `source`, or the copy that tame() has changed. Sets `needs_taming` if RapidJSON has
// rejected a value that the grammar allows.
static relay_json_status_t read(relay_json_parser_t &parser, const char *bytes, const void *source,
                                size_t size, uint32_t deepest, size_t &at, bool &needs_taming) {
  parser.nodes.clear();
  parser.text.clear();
  parser.keys.clear();
  parser.open.clear();
  parser.first_key.clear();
  Source stream(bytes, size);
  Builder builder{parser, stream, static_cast<const uint8_t *>(source), deepest};
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                             rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult result = parser.reader.Parse<flags>(stream, builder);
  needs_taming = builder.has_half || result.Code() == rapidjson::kParseErrorNumberTooBig ||
                 result.Code() == rapidjson::kParseErrorStringUnicodeSurrogateInvalid;
  at = builder.offset;
  if (result.Code() == rapidjson::kParseErrorTermination) return builder.status;
  if (!result.IsError() && stream.Tell() == size) return builder.status;
  at = result.IsError() ? result.Offset() : stream.Tell(); // a NUL ends the stream before its end
  return RELAY_JSON_SYNTAX;
}

relay_json_status_t relay_json_parse(relay_json_parser_t *parser, const void *source, size_t size,
                                     uint32_t deepest, relay_json_t *json, size_t *offset) {
  const char *bytes = static_cast<const char *>(source);
  size_t at;
  bool needs_taming;
  relay_json_status_t status = read(*parser, bytes, source, size, deepest, at, needs_taming);
  if (needs_taming) {
    parser->tamed.assign(bytes, bytes + size);
    const size_t half = tame(parser->tamed.data(), size);
    status = read(*parser, parser->tamed.data(), source, size, deepest, at, needs_taming);
    std::vector<char>().swap(parser->tamed);
    // Keys that differ only in their halves are equal in the copy, so this status replaces RELAY_JSON_TWICE.
    if (half != SIZE_MAX && status != RELAY_JSON_SYNTAX && status != RELAY_JSON_NOT_OBJECT) {
      status = RELAY_JSON_SURROGATE;
      at = half;
    }
  }
  if (offset) *offset = at;
  json->source = static_cast<const uint8_t *>(source);
  json->size = size;
  json->text = parser->text.data();
  json->nodes = parser->nodes.data();
  json->count = static_cast<uint32_t>(parser->nodes.size());
  return status;
}

relay_json_t *relay_json_copy(const relay_json_t *json) {
  size_t text_size = 0;
  for (uint32_t i = 0; i < json->count; i++) {
    const relay_json_node_t &node = json->nodes[i];
    if (node.key + node.key_length > text_size) text_size = node.key + node.key_length;
    if (node.text + node.length > text_size) text_size = node.text + node.length;
  }
  const size_t nodes_size = json->count * sizeof(relay_json_node_t);
  char *block = static_cast<char *>(std::malloc(sizeof(relay_json_t) + nodes_size + json->size + text_size));
  if (!block) return nullptr;
  relay_json_t *copy = reinterpret_cast<relay_json_t *>(block);
  relay_json_node_t *nodes = reinterpret_cast<relay_json_node_t *>(copy + 1);
  char *source = reinterpret_cast<char *>(nodes) + nodes_size;
  char *text = source + json->size;
  if (nodes_size) std::memcpy(nodes, json->nodes, nodes_size);
  if (json->size) std::memcpy(source, json->source, json->size);
  if (text_size) std::memcpy(text, json->text, text_size);
  copy->source = reinterpret_cast<const uint8_t *>(source);
  copy->size = json->size;
  copy->text = text;
  copy->nodes = nodes;
  copy->count = json->count;
  return copy;
}

const relay_json_node_t *relay_json_member(const relay_json_t *json, const char *key) {
  if (json->count == 0) return nullptr;
  const size_t length = std::strlen(key);
  for (uint32_t i = 1; i < json->count; i = json->nodes[i].next) {
    const relay_json_node_t *node = &json->nodes[i];
    if (node->key_length == length && std::memcmp(json->text + node->key, key, length) == 0) return node;
  }
  return nullptr;
}
