// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's UserNotifications that StillwireApple uses, as in its Swift interface. It checks types,
// and never runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state
// the systems of that page.
import Foundation

// https://developer.apple.com/documentation/foundation/nsstring/localizedusernotificationstring(forkey:arguments:)
extension NSString {
  @available(tvOS, unavailable)
  public class func localizedUserNotificationString(forKey key: String, arguments: [Any]?) -> String { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationcontent
open class UNNotificationContent: NSObject {
  @available(tvOS, unavailable)
  open var userInfo: [AnyHashable: Any] { fatalError() }
  @available(tvOS, unavailable)
  open var title: String { fatalError() }
  @available(tvOS, unavailable)
  open var body: String { fatalError() }
  @available(tvOS, unavailable)
  open var threadIdentifier: String { fatalError() }
  @available(tvOS, unavailable)
  open var sound: UNNotificationSound? { fatalError() }
  open var badge: NSNumber? { fatalError() }
  @available(iOS 15, macOS 12, tvOS 15, visionOS 1, watchOS 8, *)
  open var interruptionLevel: UNNotificationInterruptionLevel { fatalError() }
  // https://developer.apple.com/documentation/usernotifications/unnotificationcontent/attachments
  @available(tvOS, unavailable)
  open var attachments: [UNNotificationAttachment] { fatalError() }
  // https://developer.apple.com/documentation/usernotifications/unnotificationcontent/updating(from:)
  @available(iOS 15, macOS 12, tvOS 15, visionOS 1, watchOS 8, *)
  open func updating(from provider: any UNNotificationContentProviding) throws -> UNNotificationContent { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationinterruptionlevel
@available(iOS 15, macOS 12, tvOS 15, visionOS 1, watchOS 8, *)
public enum UNNotificationInterruptionLevel: UInt, Sendable { case passive, active, timeSensitive, critical }

// https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent
open class UNMutableNotificationContent: UNNotificationContent {
  public override init() { fatalError() }
  @available(tvOS, unavailable)
  open override var userInfo: [AnyHashable: Any] {
    get { fatalError() }
    set { fatalError() }
  }
  @available(tvOS, unavailable)
  open override var title: String {
    get { fatalError() }
    set { fatalError() }
  }
  @available(tvOS, unavailable)
  open override var body: String {
    get { fatalError() }
    set { fatalError() }
  }
  @available(tvOS, unavailable)
  open override var threadIdentifier: String {
    get { fatalError() }
    set { fatalError() }
  }
  @available(tvOS, unavailable)
  open override var sound: UNNotificationSound? {
    get { fatalError() }
    set { fatalError() }
  }
  open override var badge: NSNumber? {
    get { fatalError() }
    set { fatalError() }
  }
  @available(iOS 15, macOS 12, tvOS 15, visionOS 1, watchOS 8, *)
  open override var interruptionLevel: UNNotificationInterruptionLevel {
    get { fatalError() }
    set { fatalError() }
  }
  // https://developer.apple.com/documentation/usernotifications/unmutablenotificationcontent/attachments
  @available(tvOS, unavailable)
  open override var attachments: [UNNotificationAttachment] {
    get { fatalError() }
    set { fatalError() }
  }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationattachment
@available(tvOS, unavailable)
open class UNNotificationAttachment: NSObject {
  // https://developer.apple.com/documentation/usernotifications/unnotificationattachment/init(identifier:url:options:)-83grx
  public convenience init(identifier: String, url URL: URL, options: [AnyHashable: Any]? = nil) throws { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationsound
@available(tvOS, unavailable)
open class UNNotificationSound: NSObject {
  open class var `default`: UNNotificationSound { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationtrigger
open class UNNotificationTrigger: NSObject {}

// https://developer.apple.com/documentation/usernotifications/unnotificationcontentproviding
@available(iOS 15, macOS 12, tvOS 15, visionOS 1, watchOS 8, *)
public protocol UNNotificationContentProviding: NSObjectProtocol {}

// https://developer.apple.com/documentation/usernotifications/unnotificationrequest
open class UNNotificationRequest: NSObject {
  // https://developer.apple.com/documentation/usernotifications/unnotificationrequest/init(identifier:content:trigger:)
  public convenience init(identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?) {
    fatalError()
  }
  open var identifier: String { fatalError() }
  open var content: UNNotificationContent { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotification
open class UNNotification: NSObject {
  open var request: UNNotificationRequest { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationresponse
@available(tvOS, unavailable)
open class UNNotificationResponse: NSObject {
  open var notification: UNNotification { fatalError() }
  open var actionIdentifier: String { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/untextinputnotificationresponse
@available(tvOS, unavailable)
open class UNTextInputNotificationResponse: UNNotificationResponse {
  open var userText: String { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unusernotificationcenter
open class UNUserNotificationCenter: NSObject {
  open class func current() -> UNUserNotificationCenter { fatalError() }
  weak open var delegate: (any UNUserNotificationCenterDelegate)?
  open func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { fatalError() }
  @available(tvOS, unavailable)
  open func deliveredNotifications() async -> [UNNotification] { fatalError() }
  @available(tvOS, unavailable)
  open func removeDeliveredNotifications(withIdentifiers identifiers: [String]) { fatalError() }
  @available(tvOS, unavailable)
  open func removeAllDeliveredNotifications() { fatalError() }
  @available(iOS 16, macOS 13, tvOS 16, visionOS 1, *)
  @available(watchOS, unavailable)
  open func setBadgeCount(_ newBadgeCount: Int) async throws { fatalError() }
  open func notificationSettings() async -> UNNotificationSettings { fatalError() }
  // https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/add(_:withcompletionhandler:)
  open func add(_ request: UNNotificationRequest) async throws { fatalError() }
  @available(tvOS, unavailable)
  open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unauthorizationoptions
public struct UNAuthorizationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static var badge: Self { Self(rawValue: 1) }
  public static var sound: Self { Self(rawValue: 2) }
  public static var alert: Self { Self(rawValue: 4) }
  // https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/criticalalert
  public static var criticalAlert: Self { Self(rawValue: 16) }
  // https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/providesappnotificationsettings
  public static var providesAppNotificationSettings: Self { Self(rawValue: 32) }
  // https://developer.apple.com/documentation/usernotifications/unauthorizationoptions/provisional
  public static var provisional: Self { Self(rawValue: 64) }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationpresentationoptions
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static var badge: Self { Self(rawValue: 1) }
  public static var sound: Self { Self(rawValue: 2) }
  public static var list: Self { Self(rawValue: 8) }
  public static var banner: Self { Self(rawValue: 16) }
}

// https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
  #if !os(tvOS)
    // https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate/usernotificationcenter(_:didreceive:withcompletionhandler:)
    func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping @Sendable () -> Void)
    func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async
  #endif
  // https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate/usernotificationcenter(_:willpresent:withcompletionhandler:)
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void)
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification
  ) async -> UNNotificationPresentationOptions
  #if !os(tvOS) && !os(watchOS)
    // https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate/usernotificationcenter(_:opensettingsfor:)
    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?)
  #endif
}

// https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate
extension UNUserNotificationCenterDelegate {
  // The methods are optional in Objective-C.
  #if !os(tvOS)
    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping @Sendable () -> Void
    ) { fatalError() }
    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
    ) async { fatalError() }
  #endif
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
  ) { fatalError() }
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification
  ) async -> UNNotificationPresentationOptions { fatalError() }
  #if !os(tvOS) && !os(watchOS)
    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?
    ) { fatalError() }
  #endif
}

// https://developer.apple.com/documentation/usernotifications/unnotificationcategoryoptions
@available(tvOS, unavailable)
public struct UNNotificationCategoryOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static var customDismissAction: Self { Self(rawValue: 1) }
  public static var allowInCarPlay: Self { Self(rawValue: 2) }
  public static var hiddenPreviewsShowTitle: Self { Self(rawValue: 4) }
  public static var hiddenPreviewsShowSubtitle: Self { Self(rawValue: 8) }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationactionoptions
@available(tvOS, unavailable)
public struct UNNotificationActionOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static var authenticationRequired: Self { Self(rawValue: 1) }
  public static var destructive: Self { Self(rawValue: 2) }
  public static var foreground: Self { Self(rawValue: 4) }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationactionicon
@available(tvOS, unavailable)
open class UNNotificationActionIcon: NSObject {
  public convenience init(systemImageName: String) { fatalError() }
  public convenience init(templateImageName: String) { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationaction
@available(tvOS, unavailable)
open class UNNotificationAction: NSObject {
  public convenience init(identifier: String, title: String, options: UNNotificationActionOptions = []) { fatalError() }
  public convenience init(
    identifier: String, title: String, options: UNNotificationActionOptions = [], icon: UNNotificationActionIcon?
  ) { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/untextinputnotificationaction
@available(tvOS, unavailable)
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

// https://developer.apple.com/documentation/usernotifications/unnotificationcategory
@available(tvOS, unavailable)
open class UNNotificationCategory: NSObject {
  public convenience init(
    identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
    hiddenPreviewsBodyPlaceholder: String? = nil, categorySummaryFormat: String? = nil,
    options: UNNotificationCategoryOptions = []
  ) { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unnotificationdefaultactionidentifier
@available(tvOS, unavailable)
public let UNNotificationDefaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"

// https://developer.apple.com/documentation/usernotifications/unnotificationdismissactionidentifier
@available(tvOS, unavailable)
public let UNNotificationDismissActionIdentifier = "com.apple.UNNotificationDismissActionIdentifier"

// https://developer.apple.com/documentation/usernotifications/unnotificationserviceextension
@available(iOS 10, macOS 10.14, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class UNNotificationServiceExtension: NSObject {
  public override init() { fatalError() }
  open func didReceive(
    _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
  ) { fatalError() }
  open func serviceExtensionTimeWillExpire() { fatalError() }
}

// https://developer.apple.com/documentation/usernotifications/unauthorizationstatus
public enum UNAuthorizationStatus: Int, Sendable {
  case notDetermined, denied, authorized, provisional
  @available(macOS, unavailable)
  @available(tvOS, unavailable)
  @available(visionOS, unavailable)
  @available(watchOS, unavailable)
  case ephemeral
}

// https://developer.apple.com/documentation/usernotifications/unnotificationsetting
public enum UNNotificationSetting: Int, Sendable {
  case notSupported, disabled, enabled
}

// https://developer.apple.com/documentation/usernotifications/unnotificationsettings
open class UNNotificationSettings: NSObject {
  open var authorizationStatus: UNAuthorizationStatus { fatalError() }
  @available(tvOS, unavailable)
  open var alertSetting: UNNotificationSetting { fatalError() }
  // https://developer.apple.com/documentation/usernotifications/unnotificationsettings/lockscreensetting
  @available(tvOS, unavailable)
  @available(watchOS, unavailable)
  open var lockScreenSetting: UNNotificationSetting { fatalError() }
  // https://developer.apple.com/documentation/usernotifications/unnotificationsettings/notificationcentersetting
  @available(tvOS, unavailable)
  open var notificationCenterSetting: UNNotificationSetting { fatalError() }
  @available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
  @available(tvOS, unavailable)
  open var timeSensitiveSetting: UNNotificationSetting { fatalError() }
}
