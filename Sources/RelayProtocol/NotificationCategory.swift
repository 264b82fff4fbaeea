// SPDX-License-Identifier: Apache-2.0

/// A category of notifications with its actions. Clients make a `UNNotificationCategory` of it.
public struct NotificationCategory: Equatable, Sendable {
  public var id: CategoryID
  public var actions: [NotificationAction]
  public var options: [Option]
  /// The text that replaces the body if previews are hidden.
  public var hiddenPreviewBody: LocalizedText?
  /// The format of the summary of a stack of notifications, on the systems that still show it.
  public var summaryFormat: LocalizedText?

  public init(
    id: CategoryID, actions: [NotificationAction] = [], options: [Option] = [],
    hiddenPreviewBody: LocalizedText? = nil, summaryFormat: LocalizedText? = nil
  ) {
    self.id = id
    self.actions = actions
    self.options = options
    self.hiddenPreviewBody = hiddenPreviewBody
    self.summaryFormat = summaryFormat
  }

  /// The options of `UNNotificationCategoryOptions`.
  public enum Option: String, Sendable, CaseIterable {
    case customDismissAction, allowInCarPlay, hiddenPreviewsShowTitle, hiddenPreviewsShowSubtitle, allowAnnouncement
  }

  /// Apple's systems show at most four actions in a banner, and ten in all.
  public static let maxActions = 10
  /// The maximum length of ``hiddenPreviewBody`` and of ``summaryFormat`` in each language, in bytes.
  public static let maxTextLength = 1_024
}

/// A button of a notification, or a text field.
public struct NotificationAction: Equatable, Sendable {
  public var id: ActionID
  public var title: LocalizedText
  public var options: [Option]
  /// The picture beside the title. Is `nil` when the action has none.
  public var icon: Icon?
  /// Is `nil` for a button.
  public var textInput: TextInput?
  /// True if the relay posts the entered text in the room of the message, as a reply of the user who entered it.
  public var posts: Bool

  public init(
    id: ActionID, title: LocalizedText, options: [Option] = [], icon: Icon? = nil, textInput: TextInput? = nil,
    posts: Bool = false
  ) {
    self.id = id
    self.title = title
    self.options = options
    self.icon = icon
    self.textInput = textInput
    self.posts = posts
  }

  /// The options of `UNNotificationActionOptions`.
  public enum Option: String, Sendable, CaseIterable {
    case foreground, destructive, authenticationRequired
  }

  /// A `UNNotificationActionIcon`.
  public enum Icon: Equatable, Sendable {
    /// The name of one of Apple's SF Symbols.
    case system(String)
    /// The name of a template image in the app.
    case template(String)

    /// The maximum length of the name, in bytes.
    public static let maxName = 128
  }

  /// A text field, and the button that sends the text.
  public struct TextInput: Equatable, Sendable {
    public var button: LocalizedText
    public var placeholder: LocalizedText

    public init(button: LocalizedText, placeholder: LocalizedText) {
      self.button = button
      self.placeholder = placeholder
    }
  }

  /// The maximum length of the title, the button and the placeholder in each language, in bytes.
  public static let maxTitleLength = 256
}

/// A text for users, in one or several languages.
public enum LocalizedText: Equatable, Sendable {
  /// One text for all languages.
  case text(String)
  /// The texts by language tag (BCP 47). The text of ``defaultTag`` is for all other languages.
  case languages([String: String])

  public static let defaultTag = "default"
  public static let maxLanguages = 64
  /// RFC 5646, section 4.4.1, recommends support for tags of this length.
  public static let maxTagLength = 35
}
