// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// Returns the payload with as much of a text as fits: the whole text, or its beginning and `…`.
///
/// - Parameters:
///   - maxSize: The maximum size of the payload, in bytes.
///   - render: Returns the payload with a text.
func fitted(_ text: String?, maxSize: Int, _ render: (String?) -> [UInt8]) throws(PayloadError) -> [UInt8] {
  guard let text else { return try checked(render(nil), maxSize) }
  let whole = render(text)
  if whole.count <= maxSize { return whole }
  let room = maxSize - render("").count
  return try checked(render(text.shortened(toFit: room)), maxSize)
}

private func checked(_ payload: [UInt8], _ maxSize: Int) throws(PayloadError) -> [UInt8] {
  guard payload.count <= maxSize else { throw PayloadError(code: .tooLarge, size: payload.count, maxSize: maxSize) }
  return payload
}

extension String {
  var isBlank: Bool { allSatisfy(\.isWhitespace) }

  /// The text on one line. A text of more than `count` characters is cut and ends with `…`.
  func onOneLine(maxLength count: Int) -> String {
    var line: [Character] = []
    for character in asLine ?? "" where !character.isWhitespace || !(line.last ?? " ").isWhitespace {
      line.append(character.isWhitespace ? " " : character)
      // Two further characters are enough to see whether the text must be cut.
      if line.count == count + 2 { break }
    }
    if line.last == " " { line.removeLast() }
    return line.count <= count ? String(line) : String(line.prefix(count - 1)) + "…"
  }

  /// The longest beginning of whole characters that needs at most `room` bytes in JSON, with `…`.
  fileprivate func shortened(toFit room: Int) -> String {
    let mark = "…"
    var left = room - mark.utf8.count
    let end = indices.first { index in
      left -= escapedSize(of: self[index])
      return left < 0
    }
    return self[..<(end ?? endIndex)] + mark
  }
}

private func escapedSize(of character: Character) -> Int {
  var json = JSONWriter()
  json.string(String(character))
  return json.bytes.count - 2
}
