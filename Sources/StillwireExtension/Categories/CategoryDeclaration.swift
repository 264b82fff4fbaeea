// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The values of a `UNNotificationCategory`, with texts in one person's language.
public struct CategoryDeclaration: Equatable, Sendable {
  public var identifier: String
  public var actions: [Action]
  public var hiddenPreviewsBodyPlaceholder: String?
  public var categorySummaryFormat: String?
  public var options: [NotificationCategory.Option]

  /// The values of a `UNNotificationAction`, or of a `UNTextInputNotificationAction` if `textInput` is set.
  public struct Action: Equatable, Sendable {
    public var identifier: String
    public var title: String
    public var options: [NotificationAction.Option]
    public var icon: NotificationAction.Icon?
    public var textInput: TextInput?
  }

  /// The texts of the field in which a person types an answer.
  public struct TextInput: Equatable, Sendable {
    public var button: String
    public var placeholder: String
  }
}

extension CategoryRegistry {
  /// The categories that an app registers with the system at launch. Register all of them in one call, because each
  /// registration replaces the earlier one.
  /// - Parameter languages: The person's languages, the preferred one first: `Locale.preferredLanguages`.
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
