// SPDX-License-Identifier: Apache-2.0
import RelayCore

extension RoomPatterns {
  /// The keys of a pattern in a configuration file.
  static let keys: [String: ConfigurationKey] = [
    "match": .text, "history.count": .number, "history.age": .number, "push": .flag, "preview": .text,
    "receipts": .flag, "memberList": .number, "members": .number, "can": .texts,
  ]
}
