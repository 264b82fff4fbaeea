// SPDX-License-Identifier: Apache-2.0
// Declares the parts of NIOTransportServices that StillwireClient uses: on Linux the package is empty. It checks types,
// and never runs. A test compares the declarations with the sources of the package.
public import NIOCore
public import Network

// https://github.com/apple/swift-nio-transport-services/blob/main/Sources/NIOTransportServices/NIOTSEventLoopGroup.swift
@available(macOS 10.14, iOS 12, tvOS 12, watchOS 6, *)
public final class NIOTSEventLoopGroup {
  public static var singleton: NIOTSEventLoopGroup { fatalError() }
  public func next() -> any EventLoop { fatalError() }
}

// https://github.com/apple/swift-nio-transport-services/blob/main/Sources/NIOTransportServices/NIOTSConnectionBootstrap.swift
@available(macOS 10.14, iOS 12, tvOS 12, watchOS 6, *)
public final class NIOTSConnectionBootstrap {
  public convenience init(group: any EventLoopGroup) { fatalError() }
  public func connectTimeout(_ timeout: TimeAmount) -> Self { fatalError() }
  public func tlsOptions(_ options: NWProtocolTLS.Options) -> Self { fatalError() }
  @available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
  public func connect<Output: Sendable>(
    host: String,
    port: Int,
    channelInitializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
  ) async throws -> Output { fatalError() }
}
