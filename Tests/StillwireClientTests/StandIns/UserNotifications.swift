// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's UserNotifications that StillwireApple uses, as in its Swift interface. It checks types,
// and never runs.
import Foundation

open class UNNotificationContent: NSObject {
  open var userInfo: [AnyHashable: Any] { fatalError() }
  open func updating(from provider: any UNNotificationContentProviding) throws -> UNNotificationContent { fatalError() }
}

public protocol UNNotificationContentProviding: NSObjectProtocol {}

open class UNNotificationRequest: NSObject {
  open var content: UNNotificationContent { fatalError() }
}

open class UNNotification: NSObject {
  open var request: UNNotificationRequest { fatalError() }
}

open class UNNotificationResponse: NSObject {
  open var notification: UNNotification { fatalError() }
  open var actionIdentifier: String { fatalError() }
}

open class UNTextInputNotificationResponse: UNNotificationResponse {
  open var userText: String { fatalError() }
}

open class UNUserNotificationCenter: NSObject {
  open class func current() -> UNUserNotificationCenter { fatalError() }
  open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) { fatalError() }
}

public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async
}

public struct UNNotificationCategoryOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static var customDismissAction: Self { Self(rawValue: 1) }
  public static var allowInCarPlay: Self { Self(rawValue: 2) }
  public static var hiddenPreviewsShowTitle: Self { Self(rawValue: 4) }
  public static var hiddenPreviewsShowSubtitle: Self { Self(rawValue: 8) }
}

public struct UNNotificationActionOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static var authenticationRequired: Self { Self(rawValue: 1) }
  public static var destructive: Self { Self(rawValue: 2) }
  public static var foreground: Self { Self(rawValue: 4) }
}

open class UNNotificationActionIcon: NSObject {
  public convenience init(systemImageName: String) { fatalError() }
  public convenience init(templateImageName: String) { fatalError() }
}

open class UNNotificationAction: NSObject {
  public convenience init(identifier: String, title: String, options: UNNotificationActionOptions = []) { fatalError() }
  public convenience init(
    identifier: String, title: String, options: UNNotificationActionOptions = [], icon: UNNotificationActionIcon?
  ) { fatalError() }
}

open class UNTextInputNotificationAction: UNNotificationAction {
  public convenience init(
    identifier: String, title: String, options: UNNotificationActionOptions = [], textInputButtonTitle: String,
    textInputPlaceholder: String
  ) { fatalError() }
  public convenience init(
    identifier: String, title: String, options: UNNotificationActionOptions = [], icon: UNNotificationActionIcon?,
    textInputButtonTitle: String, textInputPlaceholder: String
  ) { fatalError() }
}

open class UNNotificationCategory: NSObject {
  public convenience init(
    identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
    hiddenPreviewsBodyPlaceholder: String? = nil, categorySummaryFormat: String? = nil,
    options: UNNotificationCategoryOptions = []
  ) { fatalError() }
}
