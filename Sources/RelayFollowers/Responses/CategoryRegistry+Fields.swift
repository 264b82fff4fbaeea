// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol
package import RelayRequests

extension CategoryRegistry {
  /// The member `categories` of a request.
  package static let field = FieldDeclaration(
    "categories", .list(max: maxCategories, ["$ref": "#/components/schemas/Category"]), isRequired: true,
    "The id of each category is unique. So is the id of each action, over all categories.")

  /// Parses the member `categories` of a request or of the stored registry.
  package init(version: Int64, _ fields: Fields) throws(RequestError) {
    var categories: [NotificationCategory] = []
    var known: Set<CategoryID> = []
    var actions: Set<ActionID> = []
    let given = try fields.required("categories", fields.objects("categories", max: Self.maxCategories))
    for fields in given {
      let category = try NotificationCategory(fields)
      guard known.insert(category.id).inserted else { throw fields.wrong("id", "is the id of another category") }
      for (index, action) in category.actions.enumerated() where !actions.insert(action.id).inserted {
        throw fields.wrong("actions/\(index)/id", "is the id of another action: it is unique over all categories")
      }
      categories.append(category)
    }
    self.init(version: version, categories: categories)
  }
}

extension NotificationCategory {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    var actions: [NotificationAction] = []
    for fields in try fields.objects("actions", max: Self.maxActions) ?? [] {
      actions.append(try NotificationAction(fields))
    }
    self.init(
      id: try fields.required("id", fields.name("id")), actions: actions, options: try fields.options(),
      // A backend that builds the registry from a form sends an empty text for an absent one.
      hiddenPreviewBody: fields.members["hiddenPreviewBody"] == .string("")
        ? nil : try fields.localizedText("hiddenPreviewBody", maxLength: Self.maxTextLength),
      summaryFormat: try fields.localizedText("summaryFormat", maxLength: Self.maxTextLength))
  }
}

extension NotificationAction {
  fileprivate init(_ fields: Fields) throws(RequestError) {
    let input = try fields.object("textInput")
    self.init(
      id: try fields.required("id", fields.name("id")), title: try fields.label("title"),
      options: try fields.options(), icon: try NotificationAction.Icon(fields),
      textInput: try input.map { input throws(RequestError) in
        TextInput(button: try input.label("button"), placeholder: try input.label("placeholder"))
      }, posts: try fields.bool("posts") ?? false)
    guard !id.rawValue.hasPrefix("com.apple.") else {
      throw fields.wrong("id", "must not begin with com.apple.")
    }
    guard !posts || textInput != nil else { throw fields.wrong("posts", "needs textInput") }
  }
}

extension NotificationAction.Icon {
  /// Returns `nil` if there is no `icon`.
  fileprivate init?(_ fields: Fields) throws(RequestError) {
    guard let icon = try fields.object("icon") else { return nil }
    let system = try icon.string("system", maxLength: Self.maxName)
    let template = try icon.string("template", maxLength: Self.maxName)
    guard let key = icon.members.keys.sorted().first(where: { !["system", "template"].contains($0) }) else {
      switch (system, template) {
      case (.some(let name), nil) where !name.isEmpty: self = .system(name)
      case (nil, .some(let name)) where !name.isEmpty: self = .template(name)
      default: throw fields.wrong("icon", "must have a name as system or as template")
      }
      return
    }
    throw icon.wrong(key, "is not known here; icon has system or template")
  }
}

extension Fields {
  fileprivate func options<Option>() throws(RequestError) -> [Option]
  where Option: RawRepresentable<String> & CaseIterable & Equatable {
    var options: [Option] = []
    for text in try strings("options", max: Option.allCases.count, maxLength: 64) ?? [] {
      let key = "options/\(options.count)"
      guard let option = Option(rawValue: text) else {
        throw wrong(key, "must be one of \(Option.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard !options.contains(option) else { throw wrong(key, "is given twice") }
      options.append(option)
    }
    return options
  }

  fileprivate func label(_ key: String) throws(RequestError) -> LocalizedText {
    try required(key, localizedText(key, maxLength: NotificationAction.maxTitleLength))
  }

  /// Parses a text of one line, or an object of such texts by language tag.
  fileprivate func localizedText(_ key: String, maxLength: Int) throws(RequestError) -> LocalizedText? {
    guard case .object? = members[key], let given = try object(key) else {
      return try shownLine(key, maxLength: maxLength).map(LocalizedText.text)
    }
    guard given.members.count <= LocalizedText.maxLanguages else {
      throw wrong(key, "must have at most \(LocalizedText.maxLanguages) languages")
    }
    var texts: [String: String] = [:]
    for tag in given.members.keys.sorted() {
      guard tag.isLanguageTag else { throw given.wrong(tag.escapedForPointer, "is not a language tag, such as pt-BR") }
      texts[tag] = try given.required(tag, given.shownLine(tag, maxLength: maxLength))
    }
    guard texts[LocalizedText.defaultTag] != nil else { throw given.wrong(LocalizedText.defaultTag, "is missing") }
    return .languages(texts)
  }
}

extension String {
  /// The name as part of a JSON pointer (RFC 6901). `~` is escaped elsewhere.
  fileprivate var escapedForPointer: String { replacing("/", with: "~1") }
}
