// SPDX-License-Identifier: Apache-2.0
import RelayJSON
package import RelayProtocol

extension CategoryRegistry {
  /// The categories as a JSON array. Equal categories have equal texts.
  package var categoriesJSON: [UInt8] {
    var writer = JSONWriter()
    writer.array { list in categories.forEach { category in list.object { category.write(to: &$0) } } }
    return writer.bytes
  }
}

extension NotificationCategory {
  fileprivate func write(to object: inout JSONWriter.Object) {
    object["id"] = id.rawValue
    object.array("actions") { list in actions.forEach { action in list.object { action.write(to: &$0) } } }
    object.options(options)
    object.text("hiddenPreviewBody", hiddenPreviewBody)
    object.text("summaryFormat", summaryFormat)
  }
}

extension NotificationAction {
  fileprivate func write(to object: inout JSONWriter.Object) {
    object["id"] = id.rawValue
    object.text("title", title)
    object.options(options)
    switch icon {
    case .system(let name): object.object("icon") { $0["system"] = name }
    case .template(let name): object.object("icon") { $0["template"] = name }
    case nil: break
    }
    if let textInput {
      object.object("textInput") {
        $0.text("button", textInput.button)
        $0.text("placeholder", textInput.placeholder)
      }
    }
    if posts { object.bool("posts", true) }
  }
}

extension JSONWriter.Object {
  fileprivate mutating func options<Option: RawRepresentable<String>>(_ options: [Option]) {
    array("options") { list in options.forEach { list.string($0.rawValue) } }
  }

  fileprivate mutating func text(_ key: String, _ text: LocalizedText?) {
    switch text {
    case .text(let text): self[key] = text
    case .languages(let texts): object(key) { $0.members(texts.mapValues(JSON.string)) }
    case nil: break
    }
  }
}
