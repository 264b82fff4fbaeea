// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension PushStyle {
  /// The names of the members of `push` that this type parses.
  public static let keys = [
    "title", "titleKey", "titleArgs", "subtitle", "subtitleKey", "subtitleArgs", "body", "bodyKey", "bodyArgs",
    "relevance", "sound", "badge", "category", "thread", "target", "image", "data", "collapse", "communication",
  ]

  /// - Parameter level: The requested level.
  init(_ fields: Fields, level: Level) throws(RequestError) {
    self.init()
    title = try fields.pushText("title", maxLength: Self.maxTitleLength)
    subtitle = try fields.pushText("subtitle", maxLength: Self.maxTitleLength)
    body = try fields.pushText("body", maxLength: Self.maxBody, isLine: false)
    relevance = try fields.decimal("relevance", 0...1)
    sound = try fields.sound(level: level)
    if fields.isNull("badge") {
      badge = .unchanged
    } else if fields.has("badge"), fields.members["badge"] != .string("auto") {
      guard let number = try? fields.integer("badge", 0...Self.maxBadge) else {
        throw fields.wrong("badge", "must be auto, an integer from 0 to \(Self.maxBadge), or null")
      }
      badge = .number(number)
    }
    category = try fields.name("category")
    if fields.isNull("thread") {
      thread = .app
    } else if let name = try fields.readable("thread", maxLength: Self.maxThreadLength) {
      thread = .own(name)
    }
    target = try fields.readable("target", maxLength: Self.maxTargetLength)
    image = try fields.webAddress("image", maxLength: Self.maxImageLength)
    if let data = try fields.object("data") { self.data = try data.customKeys }
    collapse = try fields.choice("collapse") ?? .message
    isCommunication = try fields.bool("communication")
  }
}

extension Fields {
  /// A text that must not be blank.
  fileprivate func readable(_ key: String, maxLength: Int) throws(RequestError) -> String? {
    guard let text = try string(key, maxLength: maxLength) else { return nil }
    guard !text.allSatisfy(\.isWhitespace) else { throw wrong(key, "must not be blank") }
    return text
  }

  /// Parses a text: the member `name`, or the members `nameKey` and `nameArgs`.
  /// - Parameter isLine: True if phones show the text in one line.
  fileprivate func pushText(_ name: String, maxLength: Int, isLine: Bool = true) throws(RequestError) -> PushText? {
    let text = try isLine ? shownLine(name, maxLength: maxLength) : readable(name, maxLength: maxLength)
    // A phone without the translation shows the key itself.
    let key = try shownLine("\(name)Key", maxLength: PushStyle.maxKeyLength)
    let (list, max, maxArgument) = ("\(name)Args", PushStyle.maxArguments, PushStyle.maxArgumentLength)
    let arguments =
      try isLine ? lines(list, max: max, maxLength: maxArgument) : strings(list, max: max, maxLength: maxArgument)
    guard text == nil || key == nil else { throw wrong("\(name)Key", "and \(name) exclude each other") }
    guard arguments == nil || key != nil else { throw wrong("\(name)Args", "needs \(name)Key") }
    if let key { return .localized(key: key, arguments: arguments ?? []) }
    return text.map(PushText.text)
  }

  fileprivate func sound(level: Level) throws(RequestError) -> PushSound {
    guard has("sound") else { return .standard }
    if case .string? = members["sound"], let name = try readable("sound", maxLength: PushStyle.maxSoundLength) {
      return .file(SoundFile(name: name))
    }
    guard !isNull("sound") else { return .none }
    guard case .object? = members["sound"], let parsed = try object("sound") else {
      throw wrong("sound", "must be a name, an object with a name, or null")
    }
    try parsed.checkNames(among: ["name", "volume", "critical"])
    let sound = SoundFile(
      name: try parsed.required("name", parsed.readable("name", maxLength: PushStyle.maxSoundLength)),
      volume: try parsed.decimal("volume", 0...1), isCritical: try parsed.bool("critical") ?? false)
    guard !sound.isCritical || level == .critical else { throw parsed.wrong("critical", "needs the level critical") }
    return .file(sound)
  }

  fileprivate func webAddress(_ key: String, maxLength: Int) throws(RequestError) -> String? {
    guard let text = try string(key, maxLength: maxLength) else { return nil }
    guard text.isSecureURL else { throw wrong(key, "must be an https URL") }
    return text
  }

  /// The text of all members, as the custom keys of a payload.
  fileprivate var customKeys: [UInt8] {
    get throws(RequestError) {
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        guard !PushStyle.isReserved(key) else {
          throw wrong(key, "is not for data: Apple or the relay defines this key")
        }
        if case .object(let inner) = value, inner["aps"] != nil {
          throw wrong("\(key)/aps", "is not for data: Apple defines this key")
        }
      }
      guard !members.isEmpty else { return [] }
      let text = JSONWriter.object { $0.members(members) }
      guard text.count <= PushStyle.maxData else {
        throw RequestError(.badRequest, "data must have at most \(PushStyle.maxData) bytes", at: pointer)
      }
      guard JSON.object(members).depth <= PushStyle.maxDataDepth else {
        let max = PushStyle.maxDataDepth
        throw RequestError(
          .badRequest, "data must have at most \(max) objects and arrays inside each other", at: pointer)
      }
      return text
    }
  }
}

extension JSON {
  /// The depth of arrays and objects, including this one.
  fileprivate var depth: Int {
    switch self {
    case .array(let items): 1 + (items.map(\.depth).max() ?? 0)
    case .object(let members): 1 + (members.values.map(\.depth).max() ?? 0)
    default: 0
    }
  }
}
