// SPDX-License-Identifier: Apache-2.0

/// The headers of a push, by name in lower case. If a name occurs twice, the last value counts.
struct LintHeaders {
  private let values: [String: String]
  /// The names in a fixed order.
  let names: [String]

  init(_ headers: [(name: String, value: String)]) {
    values = Dictionary(headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
    names = values.keys.sorted()
  }

  var isEmpty: Bool { values.isEmpty }

  subscript(name: String) -> String? { values[name] }

  var type: String? { values["apns-push-type"] }
  var topic: String? { values["apns-topic"] }

  var isVoIP: Bool { type == "voip" || (type == nil && topic?.hasSuffix(".voip") == true) }
  var isActivity: Bool { type == "liveactivity" }
  /// True for a push that shows an alert, and for a push without a type.
  var isAlert: Bool { !isVoIP && (type == nil || type == "alert") }
  /// True for a push that the app's own code receives. Its payload has no fixed keys.
  var isFree: Bool {
    isVoIP || ["complication", "controls", "fileprovider", "location", "mdm", "pushtotalk", "widgets"].contains(type)
  }
}

/// The suffix of the topic for each push type. Source: Apple's "Sending notification requests to APNs".
enum PushTypes {
  static let suffixes: [String: String] = [
    "alert": "", "background": "", "complication": ".complication", "controls": ".push-type.controls",
    "fileprovider": ".pushkit.fileprovider", "liveactivity": ".push-type.liveactivity", "location": ".location-query",
    "mdm": "", "pushtotalk": ".voip-ptt", "voip": ".voip", "widgets": ".push-type.widgets",
  ]
}
