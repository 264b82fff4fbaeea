// SPDX-License-Identifier: Apache-2.0

/// The headers of a push under their lower-case names; of two with one name the last counts.
struct LintHeaders {
  private let values: [String: String]
  /// In a fixed order.
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
  /// True for a push that shows an alert; also where no header gives the type.
  var isAlert: Bool { !isVoIP && (type == nil || type == "alert") }
  /// Pushes that go to an app's own code, whatever they hold.
  var isFree: Bool {
    isVoIP || ["complication", "controls", "fileprovider", "location", "mdm", "pushtotalk", "widgets"].contains(type)
  }
}

/// How the topic of each push type ends. From Apple's "Sending notification requests to APNs".
enum PushTypes {
  static let suffixes: [String: String] = [
    "alert": "", "background": "", "complication": ".complication", "controls": ".push-type.controls",
    "fileprovider": ".pushkit.fileprovider", "liveactivity": ".push-type.liveactivity", "location": ".location-query",
    "mdm": "", "pushtotalk": ".voip-ptt", "voip": ".voip", "widgets": ".push-type.widgets",
  ]
}
