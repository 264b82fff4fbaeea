// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What a `UNNotificationCategory` is made of, in one person's language.
public struct CategoryDeclaration: Equatable, Sendable {
  public var identifier: String
  public var actions: [Action]
  public var hiddenPreviewsBodyPlaceholder: String?
  public var categorySummaryFormat: String?
  public var options: [NotificationCategory.Option]

  /// A `UNNotificationAction`; with `textInput` a `UNTextInputNotificationAction`.
  public struct Action: Equatable, Sendable {
    public var identifier: String
    public var title: String
    public var options: [NotificationAction.Option]
    public var icon: NotificationAction.Icon?
    public var textInput: TextInput?
  }

  public struct TextInput: Equatable, Sendable {
    public var button: String
    public var placeholder: String
  }
}

extension CategoryRegistry {
  /// What an app declares to the system at launch, all at once: what is not declared then is no longer.
  /// - Parameter languages: The person's, the best one first: `Locale.preferredLanguages`.
  public func declarations(for languages: [String]) -> [CategoryDeclaration] {
    categories.map { category in
      CategoryDeclaration(
        identifier: category.id.rawValue,
        actions: category.actions.map { action in
          CategoryDeclaration.Action(
            identifier: action.id.rawValue, title: action.title.text(for: languages), options: action.options,
            icon: action.icon,
            textInput: action.textInput.map {
              .init(button: $0.button.text(for: languages), placeholder: $0.placeholder.text(for: languages))
            })
        },
        hiddenPreviewsBodyPlaceholder: category.hiddenPreviewBody?.text(for: languages),
        categorySummaryFormat: category.summaryFormat?.text(for: languages), options: category.options)
    }
  }
}
