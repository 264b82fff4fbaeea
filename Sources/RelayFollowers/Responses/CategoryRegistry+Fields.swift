// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
package import RelayProtocol
package import RelayRequests

extension CategoryRegistry {
  /// The member `categories` of a request.
  package static let field = Field<[Fields]?>.objects(
    "categories", max: maxCategories, NotificationCategory.object,
    "The id of each category is unique. So is the id of each action, over all categories."
  ).required()

  /// Parses the member `categories` of a request or of the stored registry.
  package init(version: Int64, _ fields: Fields) throws(RequestError) {
    var categories: [NotificationCategory] = []
    var known: Set<CategoryID> = []
    var actions: Set<ActionID> = []
    for fields in try Self.field.value(in: fields) {
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
  private static let idField = Field<CategoryID?>.name("id", schema: "CategoryName").required()
  private static let actionsField = Field<[Fields]?>.objects(
    "actions", max: maxActions, NotificationAction.object,
    "The actions, in the order in which they are shown. A banner shows the first four.")
  private static let optionsField = Field<[Option]>.options(
    """
    Options of `UNNotificationCategoryOptions`. Without `customDismissAction` an app does not learn that the user \
    dismissed a notification.
    """)
  private static let bodyField = Field<LocalizedText?>.texts(
    "hiddenPreviewBody", maxLength: maxTextLength,
    """
    The text that replaces the body while previews are hidden. At most 1,024 bytes for each language. An empty string \
    counts as absent.
    """)
  private static let formatField = Field<LocalizedText?>.texts(
    "summaryFormat", maxLength: maxTextLength,
    "The format by which older systems summarize a group of notifications. At most 1,024 bytes for each language.")

  fileprivate static let object = ObjectDeclaration(
    "Category", fields: [idField, actionsField, optionsField, bodyField, formatField])

  fileprivate init(_ fields: Fields) throws(RequestError) {
    var actions: [NotificationAction] = []
    for fields in try Self.actionsField.value(in: fields) ?? [] {
      actions.append(try NotificationAction(fields))
    }
    self.init(
      id: try Self.idField.value(in: fields), actions: actions, options: try Self.optionsField.value(in: fields),
      // A backend that builds the registry from a form sends an empty text for an absent one.
      hiddenPreviewBody: fields.members["hiddenPreviewBody"] == .string("")
        ? nil : try Self.bodyField.value(in: fields),
      summaryFormat: try Self.formatField.value(in: fields))
  }
}

extension NotificationAction {
  private static let idField = Field<ActionID?>.name(
    "id", schema: "CategoryName", "The id does not begin with `com.apple.`."
  ).required()
  private static let titleField = Field<LocalizedText?>.texts(
    "title", maxLength: maxTitleLength, "At most 256 bytes for each language."
  ).required()
  private static let optionsField = Field<[Option]>.options("Options of `UNNotificationActionOptions`.")
  private static let button = Field<LocalizedText?>.texts("button", maxLength: maxTitleLength).required()
  private static let placeholder = Field<LocalizedText?>.texts("placeholder", maxLength: maxTitleLength).required()
  private static let inputField = Field<Fields?>.object(
    "textInput", ObjectDeclaration(fields: [button, placeholder]),
    "The action has a text field. Its texts have at most 256 bytes for each language.")
  private static let postsField = Field<Bool?>.flag(
    "posts",
    "true: the text becomes a message of the user in the room of the notification. Needs `textInput`.")

  fileprivate static let object = ObjectDeclaration(
    "Action", fields: [idField, titleField, optionsField, Icon.field, inputField, postsField])

  fileprivate init(_ fields: Fields) throws(RequestError) {
    let input = try Self.inputField.value(in: fields)
    self.init(
      id: try Self.idField.value(in: fields), title: try Self.titleField.value(in: fields),
      options: try Self.optionsField.value(in: fields), icon: try NotificationAction.Icon(fields),
      textInput: try input.map { input throws(RequestError) in
        TextInput(button: try Self.button.value(in: input), placeholder: try Self.placeholder.value(in: input))
      }, posts: try Self.postsField.value(in: fields) ?? false)
    guard !id.rawValue.hasPrefix("com.apple.") else {
      throw fields.wrong("id", "must not begin with com.apple.")
    }
    guard !posts || textInput != nil else { throw fields.wrong("posts", "needs textInput") }
  }
}

extension NotificationAction.Icon {
  fileprivate static let field = FieldDeclaration(
    "icon",
    .value([
      "anyOf": .array(
        ["system", "template"].map { kind in
          let name = FieldDeclaration(kind, .text(minLength: 1, maxLength: maxName), isRequired: true)
          return ObjectDeclaration(isClosed: true, fields: [name]).schema
        })
    ]),
    "`UNNotificationActionIcon`: the name of an SF Symbol (`system`) or of a template image in the app (`template`).")

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

extension Field {
  /// The options of a category or an action.
  fileprivate static func options<Option>(_ meaning: String) -> Self
  where Value == [Option], Option: RawRepresentable<String> & CaseIterable & Equatable {
    let cases: OrderedJSON = ["enum": .array(Option.allCases.map { .string($0.rawValue) })]
    let type = FieldType.value(["type": "array", "uniqueItems": .scalar(.bool(true)), "items": cases])
    return Self(FieldDeclaration("options", type, meaning)) { fields throws(RequestError) in try fields.options() }
  }
}

extension Field where Value == LocalizedText? {
  /// A text of one line, or such texts by language. The document has its schema.
  fileprivate static func texts(_ name: String, maxLength: Int, _ meaning: String? = nil) -> Self {
    let type = FieldType.reference("#/components/schemas/LocalizedText", .text)
    return Self(FieldDeclaration(name, type, meaning)) { fields throws(RequestError) in
      try fields.localizedText(name, maxLength: maxLength)
    }
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
