// SPDX-License-Identifier: Apache-2.0

extension String {
  /// Makes a text of UTF-8. Returns `nil` if the bytes are not valid UTF-8.
  init?(validUTF8 bytes: some Collection<UInt8>) {
    // `String(validating:as:)` needs iOS 18, and the libraries for apps run on iOS 16.
    if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {
      self.init(validating: bytes, as: UTF8.self)
    } else {
      self.init(comparedUTF8: bytes)
    }
  }

  /// Does the same on older systems, with a second pass over the bytes.
  init?(comparedUTF8 bytes: some Collection<UInt8>) {
    // The decoder replaces invalid bytes by U+FFFD, so that the text has other bytes.
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.utf8.elementsEqual(bytes) else { return nil }
    self = text
  }
}
