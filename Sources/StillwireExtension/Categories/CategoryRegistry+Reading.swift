// SPDX-License-Identifier: Apache-2.0
// Parses the category registry that the relay serves at `/v1/categories`.
import RelayJSON
import RelayProtocol

extension CategoryRegistry {
  /// Parses the answer to `GET /v1/categories`. Omits options and members that are newer than this client.
  ///
  /// Returns `nil` if the answer is not a category registry.
  init?(_ json: JSON) {
    guard let list = json["categories"]?.items, list.count <= Self.maxCategories else { return nil }
    var categories: [NotificationCategory] = []
    var known: Set<CategoryID> = []
    for json in list {
      guard let category = NotificationCategory(json), known.insert(category.id).inserted else { return nil }
      categories.append(category)
    }
    self.init(version: json["version"]?.integer ?? 0, categories: categories)
  }
}

extension NotificationCategory {
  fileprivate init?(_ json: JSON) {
    guard let id: CategoryID = json.name("id") else { return nil }
    let list = json["actions"]?.items ?? []
    let actions = list.compactMap(NotificationAction.init)
    guard actions.count == list.count, actions.count <= Self.maxActions else { return nil }
    self.init(
      id: id, actions: actions, options: json.options(),
      hiddenPreviewBody: LocalizedText(json["hiddenPreviewBody"]), summaryFormat: LocalizedText(json["summaryFormat"]))
  }
}

extension NotificationAction {
  fileprivate init?(_ json: JSON) {
    guard let id: ActionID = json.name("id"), let title = LocalizedText(json["title"]) else { return nil }
    var textInput: TextInput?
    if let input = json["textInput"], let button = LocalizedText(input["button"]) {
      textInput = TextInput(button: button, placeholder: LocalizedText(input["placeholder"]) ?? .text(""))
    }
    self.init(
      id: id, title: title, options: json.options(), icon: Icon(json["icon"]), textInput: textInput,
      posts: json["posts"]?.flag ?? false)
  }
}

extension NotificationAction.Icon {
  fileprivate init?(_ json: JSON?) {
    if let name = json?["system"]?.text, !name.isEmpty {
      self = .system(name)
    } else if let name = json?["template"]?.text, !name.isEmpty {
      self = .template(name)
    } else {
      return nil
    }
  }
}

extension LocalizedText {
  fileprivate init?(_ json: JSON?) {
    switch json {
    case .string(let text): self = .text(text)
    case .object(let texts): self = .languages(texts.compactMapValues(\.text))
    default: return nil
    }
  }
}

extension JSON {
  fileprivate func options<Option: RawRepresentable<String>>() -> [Option] {
    self["options"]?.items?.compactMap { $0.text.flatMap(Option.init(rawValue:)) } ?? []
  }
}
