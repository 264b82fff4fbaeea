// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension PushRequest {
  /// Parses the member `push`. Returns `nil` if there is none.
  public init?(_ fields: Fields, rights: Rights) throws(RequestError) {
    if case .bool(let isAsked)? = fields.members["push"] {
      self.init(isAsked: isAsked)
      return
    }
    guard let fields = try fields.object("push") else { return nil }
    // Without this check, a misspelled field would have no effect and nobody would notice.
    try fields.checkNames(among: Self.keys)
    try self.init(object: fields)
    isUrgentAllowed = level <= .active || rights.contains(.urgent)
    guard kind == .message || rights.contains(.urgent) else {
      throw RequestError(.forbidden, "the right urgent is needed to call", at: "\(fields.pointer)/kind")
    }
    if !rights.contains(.push), let key = (PushStyle.keys + ["silent"]).first(where: fields.has) {
      throw RequestError(
        .forbidden, "the right push is needed for \(key); without it kind, level, criteria and expires may be given",
        at: "\(fields.pointer)/\(key)")
    }
  }

  /// The members that `push` may have.
  private static let keys = ["kind", "level", "criteria", "expires", "silent"] + PushStyle.keys

  init(object fields: Fields) throws(RequestError) {
    self.init()
    kind = try fields.choice("kind", MessageKind.Requested.self)?.kind ?? .message
    level = try fields.choice("level") ?? .active
    criteria = try fields.string("criteria", maxLength: FilterReport.maxCriteriaLength)
    let maxSeconds = Double(Self.maxLifetime.components.seconds)
    lifetime = try fields.decimal("expires", 1...maxSeconds).map { .milliseconds(Int64($0 * 1000)) }
    style = try PushStyle(fields, level: level)
    guard kind == .message || style.isCommunication != false else {
      throw fields.wrong("communication", "must not be false for a call, which names its caller")
    }
    isSilent = try fields.bool("silent") ?? false
    guard isSilent else { return }
    if let key = (["kind", "level"] + PushStyle.keys).first(where: { $0 != "data" && fields.has($0) }) {
      throw fields.wrong(key, "cannot be used with silent, which shows nothing; data, criteria and expires can")
    }
  }
}
