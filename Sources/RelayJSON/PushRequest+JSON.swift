// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The form of a push request in the store. The kind, the category and the collapse scope have their own columns.
extension PushRequest {
  /// The rest of the request: `false`, or an object of the members that differ from the defaults.
  public var storedRest: [UInt8] {
    guard isAsked else { return Array("false".utf8) }
    return JSONWriter.object {
      if level != .active { $0["level"] = level.rawValue }
      if !isUrgentAllowed { $0.bool(Self.urgentKey, false) }
      $0["criteria"] = criteria
      $0.decimal("expires", lifetime?.seconds)
      style.write(to: &$0)
      if isSilent { $0.bool("silent", true) }
    }
  }

  /// Parses ``storedRest``. A text that cannot be parsed gives the default request.
  public init(storedRest json: [UInt8], kind: MessageKind, category: CategoryID?, collapse: CollapseScope) {
    self.init()
    switch JSON(reading: json) {
    case .bool(false)?: isAsked = false
    case .object(let members)?:
      let fields = Fields(stored: members)
      guard let push = try? PushRequest(object: fields) else { break }
      self = push
      isUrgentAllowed = (try? fields.bool(Self.urgentKey)) ?? true
    default: break
    }
    self.kind = kind
    style.category = category
    style.collapse = collapse
  }

  /// A member of the stored form only, because senders do not set their own rights in a request.
  private static let urgentKey = "isUrgentAllowed"
}
