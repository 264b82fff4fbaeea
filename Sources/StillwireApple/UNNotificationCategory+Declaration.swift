// SPDX-License-Identifier: Apache-2.0
// Makes a `UNNotificationCategory` of UserNotifications from `CategoryDeclaration` of StillwireExtension.
#if canImport(UserNotifications) && !os(tvOS) && !os(watchOS)
  public import StillwireExtension
  public import UserNotifications

  extension UNNotificationCategory {
    /// Makes the category that an app registers with `UNUserNotificationCenter`.
    public convenience init(_ declaration: CategoryDeclaration) {
      let options = UNNotificationCategoryOptions(declaration.options.compactMap(\.option))
      self.init(
        identifier: declaration.identifier, actions: declaration.actions.map(\.notificationAction),
        intentIdentifiers: [], hiddenPreviewsBodyPlaceholder: declaration.hiddenPreviewsBodyPlaceholder,
        categorySummaryFormat: declaration.categorySummaryFormat, options: options)
    }
  }

  extension CategoryDeclaration.Action {
    /// An action with a text field if the declaration has `textInput`, otherwise a button.
    fileprivate var notificationAction: UNNotificationAction {
      let options = UNNotificationActionOptions(options.map(\.option))
      let icon = icon.map(UNNotificationActionIcon.icon)
      guard let textInput else {
        return UNNotificationAction(identifier: identifier, title: title, options: options, icon: icon)
      }
      return UNTextInputNotificationAction(
        identifier: identifier, title: title, options: options, icon: icon, textInputButtonTitle: textInput.button,
        textInputPlaceholder: textInput.placeholder)
    }
  }

  extension UNNotificationActionIcon {
    fileprivate static func icon(_ icon: NotificationAction.Icon) -> UNNotificationActionIcon {
      switch icon {
      case .system(let name): UNNotificationActionIcon(systemImageName: name)
      case .template(let name): UNNotificationActionIcon(templateImageName: name)
      }
    }
  }

  extension NotificationAction.Option {
    fileprivate var option: UNNotificationActionOptions {
      switch self {
      case .foreground: .foreground
      case .destructive: .destructive
      case .authenticationRequired: .authenticationRequired
      }
    }
  }

  extension NotificationCategory.Option {
    /// The option of the system. Is `nil` if this system needs no such option or does not support it.
    fileprivate var option: UNNotificationCategoryOptions? {
      switch self {
      case .customDismissAction: return .customDismissAction
      case .hiddenPreviewsShowTitle: return .hiddenPreviewsShowTitle
      case .hiddenPreviewsShowSubtitle: return .hiddenPreviewsShowSubtitle
      // Deprecated in iOS 15: the system announces notifications without this option.
      case .allowAnnouncement: return nil
      case .allowInCarPlay:
        #if os(macOS)
          return nil
        #else
          return .allowInCarPlay
        #endif
      }
    }
  }
#endif
