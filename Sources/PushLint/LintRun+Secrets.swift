// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The rules for secrets in a payload. Source: "do not include sensitive data" in Apple's "Generating a remote
/// notification". The findings do not quote the secrets.
extension LintRun {
  private static let names: Set<String> = [
    "accesstoken", "apikey", "authkey", "authtoken", "bearertoken", "clientsecret", "passwd", "password", "privatekey",
    "refreshtoken", "secret", "secretkey",
  ]
  private static let sums = ["sha", "hash", "digest", "checksum", "md5"]

  mutating func checkSecrets() { check(root, of: nil) }

  /// Checks a value and everything in it. The scanner has bounded the nesting.
  private mutating func check(_ value: LintValue, of member: LintMember?) {
    switch value.kind {
    case .object(let members): for inner in members { check(inner.value, of: inner) }
    case .array(let items): for item in items { check(item, of: member) }
    case .string(let text): check(text, at: value, of: member)
    default: break
    }
  }

  private mutating func check(_ text: String, at value: LintValue, of member: LintMember?) {
    let key = String(member?.key.prefix(64) ?? "")
    let plain = AppleKeys.plain(key)
    if text.isHexadecimal, (64...200).contains(text.utf8.count), !Self.sums.contains(where: plain.contains) {
      report(
        .deviceToken, at: value, "the value of \(key.quoted) looks like a device token",
        mend: "write the token only into the path of the request")
    } else if !text.isEmpty, Self.names.contains(plain) {
      report(
        .secret, at: value, "\(key.quoted) looks like a secret, and other services see the payload",
        mend: "have the app fetch it")
    } else if text.isPrivateKey || (text.isToken && plain != "receipt") {
      report(
        .secret, at: value, "the value of \(key.quoted) looks like a key or a token", mend: "have the app fetch it")
    }
  }
}

extension String {
  fileprivate var isHexadecimal: Bool {
    utf8.allSatisfy { $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20) }
  }

  fileprivate var isPrivateKey: Bool { hasPrefix("-----BEGIN ") && prefix(64).contains("PRIVATE KEY") }

  /// True for `Bearer …` and for a JSON Web Token.
  fileprivate var isToken: Bool {
    if prefix(7).lowercased() == "bearer " { return utf8.count > 20 }
    return hasPrefix("eyJ") && utf8.count { $0 == UInt8(ascii: ".") } == 2 && !utf8.contains(0x20)
  }
}
