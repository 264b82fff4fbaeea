// SPDX-License-Identifier: Apache-2.0

/// A kind of notification and what can be done with it: what a client makes a `UNNotificationCategory` of.
public struct NotificationCategory: Equatable, Sendable {
  public var id: CategoryID
  public var actions: [NotificationAction]
  public var options: [Option]
  /// What stands for the body where previews are hidden.
  public var hiddenPreviewBody: LocalizedText?
  /// How a system that still does so sums up a stack of them.
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

  /// Those of `UNNotificationCategoryOptions`.
  public enum Option: String, Sendable, CaseIterable {
    case customDismissAction, allowInCarPlay, hiddenPreviewsShowTitle, hiddenPreviewsShowSubtitle, allowAnnouncement
  }

  /// Apple's systems show four in a banner and ten at most.
  public static let mostActions = 10
  /// Bytes of ``hiddenPreviewBody`` and ``summaryFormat`` in each language.
  public static let longestText = 1_024
}

/// A button of a notification, or a field for a text.
public struct NotificationAction: Equatable, Sendable {
  public var id: ActionID
  public var title: LocalizedText
  public var options: [Option]
  /// The picture beside the title. Is `nil` when the action has none.
  public var icon: Icon?
  /// nil: a button.
  public var textInput: TextInput?
  /// Its text goes into the message's room, as a reply of whom it was shown to.
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

  /// Those of `UNNotificationActionOptions`.
  public enum Option: String, Sendable, CaseIterable {
    case foreground, destructive, authenticationRequired
  }

  /// A `UNNotificationActionIcon`.
  public enum Icon: Equatable, Sendable {
    /// The name of one of Apple's SF Symbols.
    case system(String)
    /// The name of a template image in the app.
    case template(String)

    /// Bytes of the name at most.
    public static let maxName = 128
  }

  /// A field for a text, and the button that sends it.
  public struct TextInput: Equatable, Sendable {
    public var button: LocalizedText
    public var placeholder: LocalizedText

    public init(button: LocalizedText, placeholder: LocalizedText) {
      self.button = button
      self.placeholder = placeholder
    }
  }

  /// Bytes of the title, the button and the placeholder in each language.
  public static let longestTitle = 256
}

/// A text that people read.
public enum LocalizedText: Equatable, Sendable {
  /// For everybody.
  case text(String)
  /// By language tag (BCP 47); ``defaultTag`` has that of all others.
  case languages([String: String])

  public static let defaultTag = "default"
  public static let mostLanguages = 64
  /// RFC 5646, section 4.4.1, recommends that tags of this length be taken.
  public static let longestTag = 35
}
