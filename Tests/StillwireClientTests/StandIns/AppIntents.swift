// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's App Intents that StillwireApple, the articles and the sample app use, as in its Swift
// interface. It checks types, and never runs. Above each declaration is the page of Apple's documentation that it comes
// from. The attributes state the systems of that page.
public import Foundation

// https://developer.apple.com/documentation/foundation/localizedstringresource
public struct LocalizedStringResource: Equatable, Sendable, ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) { fatalError() }
}

// https://developer.apple.com/documentation/foundation/nspredicate/init(format:argumentarray:)
extension NSPredicate {
  public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) { fatalError() }
}

// https://developer.apple.com/documentation/appintents/intentresult
public protocol IntentResult: Sendable {}

// https://developer.apple.com/documentation/appintents/intentresultcontainer
public struct IntentResultContainer: IntentResult {}

// https://developer.apple.com/documentation/appintents/intentresult/result()
extension IntentResult where Self == IntentResultContainer {
  public static func result() -> Self { fatalError() }
}

// https://developer.apple.com/documentation/appintents/persistentlyidentifiable
public protocol PersistentlyIdentifiable {}

// https://developer.apple.com/documentation/appintents/appintent
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol AppIntent: PersistentlyIdentifiable, Sendable {
  associatedtype PerformResult: IntentResult
  static var title: LocalizedStringResource { get }
  init()
  func perform() async throws -> PerformResult
}

// https://developer.apple.com/documentation/appintents/appintent/parameter
extension AppIntent {
  public typealias Parameter = IntentParameter
}

// https://developer.apple.com/documentation/appintents/intentparameter
@propertyWrapper public final class IntentParameter<Value>: @unchecked Sendable {
  public init<Item>(title: LocalizedStringResource) where Value == Item? { fatalError() }
  // https://developer.apple.com/documentation/appintents/intentparameter/init(title:description:default:displayname:requestvaluedialog:inputconnectionbehavior:)
  public init(title: LocalizedStringResource, default defaultValue: Bool) where Value == Bool { fatalError() }
  public var wrappedValue: Value {
    get { fatalError() }
    set { fatalError() }
  }
}

// https://developer.apple.com/documentation/appintents/displayrepresentation
public struct DisplayRepresentation: Sendable, ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) { fatalError() }
}

// https://developer.apple.com/documentation/appintents/typedisplayrepresentation
public struct TypeDisplayRepresentation: Sendable, ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { fatalError() }
}

// https://developer.apple.com/documentation/appintents/instancedisplayrepresentable
public protocol InstanceDisplayRepresentable {
  var displayRepresentation: DisplayRepresentation { get }
}

// https://developer.apple.com/documentation/appintents/typedisplayrepresentable
public protocol TypeDisplayRepresentable {
  static var typeDisplayRepresentation: TypeDisplayRepresentation { get }
}

// https://developer.apple.com/documentation/appintents/appentity
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol AppEntity: Identifiable, InstanceDisplayRepresentable, PersistentlyIdentifiable, Sendable,
  TypeDisplayRepresentable
where ID: Sendable {
  associatedtype DefaultQuery: EntityQuery where DefaultQuery.Entity == Self
  static var defaultQuery: DefaultQuery { get }
}

// https://developer.apple.com/documentation/appintents/entityquery
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol EntityQuery: PersistentlyIdentifiable, Sendable {
  associatedtype Entity: AppEntity
  init()
  func entities(for identifiers: [Entity.ID]) async throws -> [Entity]
  func suggestedEntities() async throws -> [Entity]
}

// https://developer.apple.com/documentation/appintents/focusfilterappcontext
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public struct FocusFilterAppContext {
  public init(notificationFilterPredicate: NSPredicate? = nil) { fatalError() }
}

// https://developer.apple.com/documentation/appintents/focusfiltersuggestioncontext
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public struct FocusFilterSuggestionContext: Sendable {}

// https://developer.apple.com/documentation/appintents/setfocusfilterintent
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol SetFocusFilterIntent: AppIntent, InstanceDisplayRepresentable {
  var appContext: FocusFilterAppContext { get }
  static func suggestedFocusFilters(for context: FocusFilterSuggestionContext) async -> [Self]
}

// https://developer.apple.com/documentation/appintents/setfocusfilterintent/current
extension SetFocusFilterIntent {
  public static var current: Self { get async throws { fatalError() } }
}

// https://developer.apple.com/documentation/appintents/setfocusfilterintent/invalidatefocusfilterappcontext()
extension SetFocusFilterIntent {
  public static func invalidateFocusFilterAppContext() { fatalError() }
}

// https://developer.apple.com/documentation/appintents/setfocusfilterintenterror
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public enum SetFocusFilterIntentError: Error {
  // https://developer.apple.com/documentation/appintents/setfocusfilterintenterror/notfound
  case notFound
}

// https://developer.apple.com/documentation/appintents/setfocusfilterintent/suggestedfocusfilters(for:)
extension SetFocusFilterIntent {
  public static func suggestedFocusFilters(for context: FocusFilterSuggestionContext) async -> [Self] { fatalError() }
}

// https://developer.apple.com/documentation/extensionfoundation/appextension
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol AppExtension {
  init()
}

// https://developer.apple.com/documentation/extensionfoundation/appextension/main()-w0u9
extension AppExtension {
  public static func main() throws { fatalError() }
}

// https://developer.apple.com/documentation/appintents/appintentsextension
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol AppIntentsExtension: AppExtension {}
