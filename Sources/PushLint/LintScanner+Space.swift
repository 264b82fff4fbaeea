// SPDX-License-Identifier: Apache-2.0
// White space, comments and invisible characters between values.

extension LintScanner {
  /// Skips white space. Reports comments, and characters that are not white space in JSON.
  mutating func skipSpace() {
    while at < bytes.count {
      switch bytes[at] {
      case 0x20, 0x09, 0x0A, 0x0D: at += 1
      case 0: skipNul()
      case UInt8(ascii: "#"), UInt8(ascii: "/"):
        guard skipComment() else { return }
      case 0x0B, 0x0C, 0xC2, 0xE2, 0xE3, 0xEF:
        guard skipInvisible() else { return }
      default: return
      }
    }
  }

  private mutating func skipNul() {
    faults.reportText(.nulByte, at: at, "U+0000 is between values", mend: "remove it", replacement: "")
    while at < bytes.count, bytes[at] == 0 { at += 1 }
  }

  private mutating func skipComment() -> Bool {
    let start = at
    let next = at + 1 < bytes.count ? bytes[at + 1] : 0
    switch (bytes[at], next) {
    case (UInt8(ascii: "#"), _), (UInt8(ascii: "/"), UInt8(ascii: "/")):
      while at < bytes.count, bytes[at] != 0x0A, bytes[at] != 0x0D { at += 1 }
    case (UInt8(ascii: "/"), UInt8(ascii: "*")):
      at += 2
      while at < bytes.count, !(bytes[at] == UInt8(ascii: "/") && bytes[at - 1] == UInt8(ascii: "*") && at > start + 2)
      {
        at += 1
      }
      at = min(at + 1, bytes.count)
    default: return false
    }
    faults.reportText(
      .comment, at: start, "JSON has no comments", mend: "remove it", replacement: "", isMended: true)
    return true
  }

  private mutating func skipInvisible() -> Bool {
    let start = at
    guard let first = bytes.scalar(at: at), first.scalar.isInvisible else { return false }
    while let next = bytes.scalar(at: at), next.scalar.isInvisible { at += next.length }
    faults.reportText(
      .invisibleSpace, at: start, "\(first.scalar.named) is not white space in JSON",
      mend: "remove it, or write a space",
      replacement: " ", isMended: true)
    return true
  }
}

extension Unicode.Scalar {
  fileprivate var isInvisible: Bool {
    switch value {
    case 0x0B, 0x0C, 0xFEFF, 0x200B...0x200F, 0x2028, 0x2029, 0x2060: true
    case 0x20: false
    default: properties.generalCategory == .spaceSeparator
    }
  }
}
