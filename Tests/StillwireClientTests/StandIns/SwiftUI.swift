// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's SwiftUI that StillwireUI and the sample app use, as in its Swift interface. It checks
// types, and never runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes
// state the systems of that page.
@_exported public import Foundation
public import UIKit

// https://developer.apple.com/documentation/swiftui/view
@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

// https://developer.apple.com/documentation/swift/never
extension Never: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/emptyview
public struct EmptyView: View {
  public init() { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/tupleview
public struct TupleView<T>: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/viewbuilder
@resultBuilder public struct ViewBuilder {
  public static func buildBlock() -> EmptyView { fatalError() }
  public static func buildBlock<Content: View>(_ content: Content) -> Content { fatalError() }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)>
  {
    fatalError()
  }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { fatalError() }
  public static func buildEither<First: View, Second: View>(first: First) -> _ConditionalContent<First, Second> {
    fatalError()
  }
  public static func buildEither<First: View, Second: View>(second: Second) -> _ConditionalContent<First, Second> {
    fatalError()
  }
  public static func buildLimitedAvailability<Content: View>(_ content: Content) -> AnyView { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/viewbuilder/buildeither(first:)
public struct _ConditionalContent<First, Second>: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swift/optional
extension Optional: View where Wrapped: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/anyview
public struct AnyView: View {
  public init(_ view: some View) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/localizedstringkey
public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation {
  public init(_ value: String) { fatalError() }
  public init(stringLiteral value: String) { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/text
public struct Text: Equatable, Sendable {
  public init(verbatim content: String) { fatalError() }
  @_disfavoredOverload public init(_ content: some StringProtocol) { fatalError() }
  public init(
    _ key: LocalizedStringKey, tableName: String? = nil, bundle: Bundle? = nil, comment: StaticString? = nil
  ) { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/text
extension Text: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/image
public struct Image: Equatable, Sendable {
  public init(systemName: String) { fatalError() }
  public enum Scale: Hashable, Sendable { case small, medium, large }
}

// https://developer.apple.com/documentation/swiftui/image
extension Image: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/label
@MainActor @preconcurrency public struct Label<Title: View, Icon: View>: View {
  public init(@ViewBuilder title: () -> Title, @ViewBuilder icon: () -> Icon) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/button
@MainActor @preconcurrency public struct Button<Label: View>: View {
  public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/toggle
@MainActor @preconcurrency public struct Toggle<Label: View>: View {
  public init(isOn: Binding<Bool>, @ViewBuilder label: () -> Label) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/textfield
@MainActor @preconcurrency public struct TextField<Label: View>: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/textfield/init(_:text:)
extension TextField where Label == Text {
  public init(_ titleKey: LocalizedStringKey, text: Binding<String>) { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/progressview
@MainActor @preconcurrency public struct ProgressView<Label: View, CurrentValueLabel: View>: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/progressview/init()
extension ProgressView where Label == EmptyView, CurrentValueLabel == EmptyView {
  public init() { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/hstack
public struct HStack<Content: View>: View {
  public init(
    alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
  ) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/vstack
public struct VStack<Content: View>: View {
  public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
  ) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/verticalalignment
public struct VerticalAlignment: Equatable, Sendable {
  public static let center = VerticalAlignment()
}

// https://developer.apple.com/documentation/swiftui/horizontalalignment
public struct HorizontalAlignment: Equatable, Sendable {
  public static let center = HorizontalAlignment()
  public static let leading = HorizontalAlignment()
}

// https://developer.apple.com/documentation/swiftui/verticaledge
public enum VerticalEdge: Hashable, Sendable { case top, bottom }

// https://developer.apple.com/documentation/swiftui/list
@MainActor @preconcurrency public struct List<SelectionValue: Hashable, Content: View>: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/list/init(content:)
extension List where SelectionValue == Never {
  public init(@ViewBuilder content: () -> Content) { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/foreach
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {}

// https://developer.apple.com/documentation/swiftui/foreach/init(_:id:content:)
extension ForEach: View where Content: View {
  public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content) {
    fatalError()
  }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/color
public struct Color: Hashable, Sendable {
  public static let green = Color()
  public static let yellow = Color()
  public static let purple = Color()
  public static let gray = Color()
}

// https://developer.apple.com/documentation/swiftui/shapestyle
public protocol ShapeStyle: Sendable {}

// https://developer.apple.com/documentation/swiftui/color
extension Color: ShapeStyle {}

// https://developer.apple.com/documentation/swiftui/hierarchicalshapestyle
public struct HierarchicalShapeStyle: ShapeStyle {}

// https://developer.apple.com/documentation/swiftui/shapestyle/secondary
extension ShapeStyle where Self == HierarchicalShapeStyle {
  public static var secondary: HierarchicalShapeStyle { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/font
public struct Font: Hashable, Sendable {
  public static let footnote = Font()
}

// https://developer.apple.com/documentation/swiftui/view-fundamentals
extension View {
  // https://developer.apple.com/documentation/swiftui/view/font(_:)
  public func font(_ font: Font?) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/foregroundstyle(_:)
  public func foregroundStyle(_ style: some ShapeStyle) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/imagescale(_:)
  @available(iOS 13, macOS 11, tvOS 13, visionOS 1, watchOS 6, *)
  public func imageScale(_ scale: Image.Scale) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/accessibilitylabel(_:)
  public func accessibilityLabel(_ label: Text) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/disabled(_:)
  public func disabled(_ disabled: Bool) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/onsubmit(of:_:)
  public func onSubmit(_ action: @escaping () -> Void) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/task(priority:_:)
  public func task(
    priority: TaskPriority = .userInitiated, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/safeareainset(edge:alignment:spacing:content:)
  public func safeAreaInset(
    edge: VerticalEdge, alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> some View
  ) -> some View { _Modified() }
  // https://developer.apple.com/documentation/swiftui/view/onchange(of:initial:_:)-4psgg
  @available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)
  public func onChange<V: Equatable>(
    of value: V, initial: Bool = false, _ action: @escaping (V, V) -> Void
  ) -> some View { _Modified() }
}

// https://developer.apple.com/documentation/swiftui/modifiedcontent
public struct _Modified: View {
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/binding
@propertyWrapper public struct Binding<Value> {
  public init(projectedValue: Binding<Value>) { fatalError() }
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set { fatalError() }
  }
}

// https://developer.apple.com/documentation/swiftui/bindable
@available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)
@dynamicMemberLookup @propertyWrapper public struct Bindable<Value> {
  public var wrappedValue: Value
  public var projectedValue: Bindable<Value> { fatalError() }
  public init(wrappedValue: Value) where Value: AnyObject { self.wrappedValue = wrappedValue }
  public subscript<Subject>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject>
  where Value: AnyObject { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/state
@propertyWrapper public struct State<Value> {
  public init(wrappedValue value: Value) { fatalError() }
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set { fatalError() }
  }
  public var projectedValue: Binding<Value> { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/scenephase
public enum ScenePhase: Comparable, Hashable, Sendable { case background, inactive, active }

// https://developer.apple.com/documentation/swiftui/environmentvalues
public struct EnvironmentValues {
  public var scenePhase: ScenePhase { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/environment
@propertyWrapper public struct Environment<Value> {
  public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { fatalError() }
  public var wrappedValue: Value { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/scene
@MainActor @preconcurrency public protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

// https://developer.apple.com/documentation/swift/never
extension Never: Scene {}

// https://developer.apple.com/documentation/swiftui/scenebuilder
@resultBuilder public struct SceneBuilder {
  public static func buildBlock<Content: Scene>(_ content: Content) -> Content { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/windowgroup
public struct WindowGroup<Content: View>: Scene {
  public init(@ViewBuilder content: () -> Content) { fatalError() }
  public var body: Never { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/scene/onchange(of:initial:_:)
extension Scene {
  @available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)
  public func onChange<V: Equatable>(
    of value: V, initial: Bool = false, _ action: @escaping (V, V) -> Void
  ) -> some Scene { self }
}

// https://developer.apple.com/documentation/swiftui/app
@MainActor @preconcurrency public protocol App {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
  @MainActor @preconcurrency init()
}

// https://developer.apple.com/documentation/swiftui/app/main()
extension App {
  public static func main() { fatalError() }
}

// https://developer.apple.com/documentation/swiftui/uiapplicationdelegateadaptor
@available(macOS, unavailable)
@available(watchOS, unavailable)
@MainActor @preconcurrency @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: UIApplicationDelegate>
where Delegate: NSObject {
  public var wrappedValue: Delegate { fatalError() }
  public init(_ delegateType: Delegate.Type = Delegate.self) { fatalError() }
}
