// SPDX-License-Identifier: Apache-2.0

// A property wrapper for values that most objects do not have. Imports nothing.

/// An optional value behind a reference. It takes one word in its owner, so a copy of an owner without it is cheap.
@propertyWrapper public struct Rare<Value: Sendable>: Sendable {
  @usableFromInline final class Box: Sendable {
    @usableFromInline let value: Value
    @usableFromInline init(_ value: Value) { self.value = value }
  }

  @usableFromInline var box: Box?

  @inlinable public init(wrappedValue: Value?) { box = wrappedValue.map(Box.init) }

  @inlinable public var wrappedValue: Value? {
    get { box?.value }
    set { box = newValue.map(Box.init) }
  }
}

extension Rare: Equatable where Value: Equatable {
  @inlinable public static func == (a: Rare, b: Rare) -> Bool { a.box === b.box || a.box?.value == b.box?.value }
}

extension Rare: Hashable where Value: Hashable {
  @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(box?.value) }
}
