// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's UIKit that the sample app uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
@_exported public import Foundation

// https://developer.apple.com/documentation/uikit/uiapplication
@available(macOS, unavailable)
@available(watchOS, unavailable)
@MainActor open class UIApplication: NSObject {
  public struct LaunchOptionsKey: Hashable, Sendable {}
  open class var shared: UIApplication { fatalError() }
  open func registerForRemoteNotifications() { fatalError() }
}

// https://developer.apple.com/documentation/uikit/uiapplicationdelegate
@available(macOS, unavailable)
@available(watchOS, unavailable)
@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool
  func application(
    _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
  // https://developer.apple.com/documentation/uikit/uiapplicationdelegate/application(_:didreceiveremotenotification:fetchcompletionhandler:)
  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void)
}

// https://developer.apple.com/documentation/uikit/uiapplicationdelegate
@available(macOS, unavailable)
@available(watchOS, unavailable)
extension UIApplicationDelegate {
  // The method is optional in Objective-C.
  public func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) { fatalError() }
}

// https://developer.apple.com/documentation/uikit/uibackgroundfetchresult
@available(macOS, unavailable)
@available(watchOS, unavailable)
public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }
