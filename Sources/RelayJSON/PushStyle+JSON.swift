// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

extension PushStyle {
  /// Writes the members of `push` that differ from the defaults, except those that have their own columns in the store.
  func write(to object: inout JSONWriter.Object) {
    title?.write(to: &object, as: "title")
    subtitle?.write(to: &object, as: "subtitle")
    body?.write(to: &object, as: "body")
    object.decimal("relevance", relevance)
    switch sound {
    case .standard: break
    case .none: object.raw("sound", "null".utf8)
    case .file(let file):
      object.object("sound") {
        $0["name"] = file.name
        $0.decimal("volume", file.volume)
        if file.isCritical { $0.bool("critical", true) }
      }
    }
    switch badge {
    case .unread: break
    case .number(let number): object.integer("badge", number)
    case .unchanged: object.raw("badge", "null".utf8)
    }
    switch thread {
    case .room: break
    case .own(let name): object["thread"] = name
    case .app: object.raw("thread", "null".utf8)
    }
    object["target"] = target
    object["image"] = image
    if !data.isEmpty { object.raw("data", data) }
    if let isCommunication { object.bool("communication", isCommunication) }
  }
}

extension PushText {
  fileprivate func write(to object: inout JSONWriter.Object, as name: String) {
    switch self {
    case .text(let text): object[name] = text
    case .localized(let key, let arguments):
      object["\(name)Key"] = key
      if !arguments.isEmpty { object.array("\(name)Args") { list in arguments.forEach { list.string($0) } } }
    }
  }
}
