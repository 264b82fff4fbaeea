// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// The products, dependencies and targets of Stillwire. CONTRIBUTING.md describes the targets.
import PackageDescription

// Warnings are errors only if the environment has CI. A new warning of a newer compiler must not break other builds.
let isStrict = Context.environment["CI"] != nil

let swift: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])

let apple: [Platform] = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

/// The targets below the policy of the relay.
let belowPolicy: [Target.Dependency] = [
  "RelayDelivery", "RelayGateways", "RelayHub", "RelayIdentity", "RelayJSON", "RelayProtocol", "RelayPush",
  "RelayStore",
]

/// The targets of a relay without HTTP and configuration.
let relay: [Target.Dependency] = ["RelayCommands", "RelayFollowers", "RelayRequests", "RelayState"] + belowPolicy

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swift)
}

let package = Package(
  name: "stillwire",
  // Only the libraries for apps are built for Apple's systems. All other products run on Linux.
  platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .executable(name: "stillwire", targets: ["stillwire"]),
    .executable(name: "stillwire-bench", targets: ["StillwireBench"]),
    .executable(name: "stillwire-simulator", targets: ["simulator"]),
    .library(name: "StillwireClient", targets: ["StillwireClient", "StillwireApple", "StillwireUI"]),
    // For an app's extensions: without NIO, because an extension has little memory.
    .library(name: "StillwireExtension", targets: ["StillwireExtension", "StillwireApple"]),
  ],
  // The default is for a checkout, where `swift build` builds the relay.
  traits: [
    .default(enabledTraits: ["Server"]),
    .trait(name: "Server", description: "The relay and its tools. Apps add this package with `traits: []`."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-nio-transport-services", from: "1.28.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
  ],
  targets: [
    .systemLibrary(
      name: "CLibWebSockets",
      pkgConfig: "libwebsockets",
      providers: [.apt(["libwebsockets-dev", "libuv1-dev"])]
    ),
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
    .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "CRelay",
      dependencies: ["CLibWebSockets"],
      cSettings: [
        .define("_GNU_SOURCE"),
        .unsafeFlags(["-Wall", "-Wextra"] + (isStrict ? ["-Werror"] : [])),
      ],
      cxxSettings: [.define("RAPIDJSON_HAS_STDSTRING", to: "0")],
      linkerSettings: [.linkedLibrary("uv"), .linkedLibrary("http_parser")]
    ),
    .target(
      name: "CLoad",
      cSettings: [
        .define("_GNU_SOURCE"),
        .unsafeFlags(["-Wall", "-Wextra"] + (isStrict ? ["-Werror"] : [])),
      ],
      linkerSettings: [.linkedLibrary("sqlite3")]
    ),
    .target(
      name: "CDocuments",
      // `#embed` is of C23; clang has it in all versions of C.
      cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Wno-c23-extensions"] + (isStrict ? ["-Werror"] : []))]
    ),
    .target(
      name: "CRows",
      cSettings: [.unsafeFlags(["-Wall", "-Wextra"] + (isStrict ? ["-Werror"] : []))],
      linkerSettings: [.linkedLibrary("sqlite3")]
    ),
    .target(name: "RelayProtocol", swiftSettings: swift),
    .target(name: "RelayJSON", dependencies: ["RelayProtocol"], swiftSettings: swift),
    .target(
      name: "RelayHub",
      dependencies: [
        "CRelay", "RelayDelivery", "RelayJSON", "RelayProtocol",
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: swift
    ),
    .target(
      name: "RelayStore",
      dependencies: [
        "CRows", "RelayDelivery", "RelayJSON", "RelayProtocol", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      swiftSettings: swift
    ),
    .target(name: "RelayDelivery", dependencies: ["RelayJSON", "RelayProtocol"], swiftSettings: swift),
    // The decisions of a cluster's nodes, and the log that they share.
    .target(name: "RelayCluster", swiftSettings: swift),
    // The log on NATS JetStream.
    .target(
      name: "RelayNATS", dependencies: ["CLZ4", "CNATS", "RelayCluster"], exclude: ["README.md"], swiftSettings: swift),
    .target(name: "PushLint", dependencies: ["RelayJSON", "RelayProtocol"], swiftSettings: swift),
    .target(
      name: "RelayGateways",
      dependencies: [
        "RelayDelivery", "RelayJSON", "RelayProtocol",
        crypto,
        logging,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ],
      swiftSettings: swift
    ),
    // Simulates Apple's push service, for tests and development. The server does not depend on it.
    .target(
      name: "AppleSimulator",
      dependencies: [
        "RelayJSON", "RelayProtocol",
        crypto,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "SwiftASN1", package: "swift-asn1"),
        .product(name: "X509", package: "swift-certificates"),
      ],
      swiftSettings: swift
    ),
    .executableTarget(
      name: "simulator",
      dependencies: [
        "AppleSimulator",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        crypto,
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: swift
    ),
    // Verifies clients and backends: tokens, keys and their files.
    .target(
      name: "RelayIdentity",
      dependencies: [
        "RelayJSON", "RelayProtocol",
        crypto,
        .product(name: "JWTKit", package: "jwt-kit"),
        logging,
      ],
      swiftSettings: swift
    ),
    // The push worker.
    .target(
      name: "RelayPush",
      dependencies: [
        "RelayDelivery", "RelayGateways", "RelayJSON", "RelayProtocol", "RelayStore",
        crypto,
        logging,
      ],
      swiftSettings: swift
    ),
    // The requests of both transports, with their fields and their callers, and the settings of a running relay.
    .target(
      name: "RelayRequests",
      dependencies: belowPolicy + [crypto], swiftSettings: swift),
    // The actor on the hub's thread, and the state above the hub: rights, people and rooms.
    .target(name: "RelayState", dependencies: ["RelayRequests", logging] + belowPolicy, swiftSettings: swift),
    // Messages, and the components that follow changes: deliveries, lists of rooms, calls, responses, erasures, and the
    // audit log.
    .target(
      name: "RelayFollowers", dependencies: ["RelayRequests", "RelayState", logging] + belowPolicy, swiftSettings: swift
    ),
    // The commands of both transports, and the relay that makes and connects all components.
    .target(
      name: "RelayCommands",
      dependencies: ["PushLint", "RelayFollowers", "RelayRequests", "RelayState", logging] + belowPolicy,
      swiftSettings: swift
    ),
    // Routes, the page, the metrics, and the documents of the interface.
    .target(
      name: "RelayHTTP",
      dependencies: [
        "CDocuments", "CZlib", "PushLint", "RelayCluster", .product(name: "HTTPTypes", package: "swift-http-types"),
        logging,
      ] + relay,
      // `CDocuments` embeds them.
      exclude: ["Documents"],
      swiftSettings: swift
    ),
    // Configuration and composition.
    .target(
      name: "RelayServer",
      dependencies: [
        "RelayCluster", "RelayHTTP", "RelayNATS", .product(name: "Configuration", package: "swift-configuration"),
        crypto,
        logging,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ] + relay,
      swiftSettings: swift
    ),
    // For an app's extensions: uses only Foundation.
    .target(
      name: "StillwireExtension", dependencies: ["RelayJSON", "RelayProtocol"],
      // Also declares the data and the system's functions that the other libraries for apps use.
      resources: [.copy("PrivacyInfo.xcprivacy")], swiftSettings: swift),
    .target(
      name: "StillwireClient",
      dependencies: [
        "RelayJSON", "RelayProtocol", "StillwireExtension",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(platforms: [.linux])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(platforms: [.linux])),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(
          name: "NIOTransportServices", package: "swift-nio-transport-services", condition: .when(platforms: apple)),
      ],
      swiftSettings: swift
    ),
    // The part for extensions that needs Apple's frameworks. Is empty on other systems.
    .target(name: "StillwireApple", dependencies: ["StillwireExtension"], swiftSettings: swift),
    // The views and observable models of apps. On other systems than Apple's it has the models and values only.
    .target(
      name: "StillwireUI",
      dependencies: ["RelayJSON", "RelayProtocol", "StillwireApple", "StillwireClient", "StillwireExtension"],
      swiftSettings: swift),
    .executableTarget(
      name: "stillwire",
      dependencies: [
        "PushLint", "RelayGateways", "RelayHTTP", "RelayIdentity", "RelayJSON", "RelayProtocol", "RelayServer",
        "RelayStore",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Configuration", package: "swift-configuration"),
        logging,
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: swift,
      // Its `malloc` replaces that of glibc: threads free what other threads have allocated, and glibc's costs a quarter
      // of the processor time of stored messages.
      linkerSettings: [.linkedLibrary("jemalloc", .when(platforms: [.linux]))]
    ),
    // The load generator.
    .executableTarget(
      name: "StillwireBench",
      dependencies: [
        "CLoad", "RelayDelivery", "RelayGateways", "RelayIdentity", "RelayJSON", "RelayProtocol",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        crypto,
        logging,
      ],
      swiftSettings: swift
    ),
    // Executes commands of Tests/Conformance with the Swift client.
    .executableTarget(
      name: "ConformanceDriver", dependencies: ["RelayJSON", "StillwireClient"], path: "Tests/Apps/SwiftDriver",
      swiftSettings: swift),
    // The app of the guide web/docs/guides/swift-app.md.
    .executableTarget(
      name: "TeaApp", dependencies: ["StillwireClient"], path: "Tests/Apps/TeaApp", swiftSettings: swift),
    // The node of a release that changes the tables, for Tests/Cluster.
    .executableTarget(
      name: "NextRelease",
      dependencies: [
        "RelayServer", "RelayStore", .product(name: "Configuration", package: "swift-configuration"),
        logging,
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      path: "Tests/Apps/NextRelease", swiftSettings: swift),
    // The tests compile these modules themselves.
    tests(
      "StillwireClientTests",
      [
        "AppleSimulator", "ChildProcess", "RelayFollowers", "RelayGateways", "RelayIdentity", "RelayJSON",
        "RelayProtocol", "RelayPush", "RelayRequests", "RelayServer", "StillwireClient", "StillwireExtension",
        "StillwireUI", crypto, logging,
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ], exclude: ["StandIns"]),
    tests("StillwireExtensionTests", ["RelayJSON", "RelayProtocol", "StillwireExtension", crypto]),
    tests("StillwireUITests", ["RelayJSON", "RelayProtocol", "StillwireClient", "StillwireUI"]),
    tests("RelayHubTests", ["RelayHub", "RelayProtocol"]),
    // Programs that tests run.
    .target(name: "ChildProcess", path: "Tests/ChildProcess", swiftSettings: swift),
    // Random numbers from a seed, so that tests can repeat them.
    .target(name: "SeededRandom", dependencies: ["RelayJSON"], path: "Tests/SeededRandom", swiftSettings: swift),
    tests("RelayClusterTests", ["RelayCluster", "SeededRandom"]),
    tests("RelayNATSTests", ["CNATS", "ChildProcess", "RelayCluster", "RelayNATS"]),
    tests("RelayProtocolTests", ["RelayProtocol"]),
    tests("RelayJSONTests", ["RelayJSON"]),
    tests("PushLintTests", ["PushLint", "RelayJSON", "RelayProtocol", "SeededRandom"]),
    tests(
      "AppleSimulatorTests",
      [
        "AppleSimulator", "RelayDelivery", "RelayGateways", "RelayJSON", "RelayProtocol", crypto,
        .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "SwiftASN1", package: "swift-asn1"),
        .product(name: "X509", package: "swift-certificates"),
      ]),
    tests(
      "RelayPushTests",
      ["RelayDelivery", "RelayGateways", "RelayJSON", "RelayProtocol", "RelayPush", "RelayStore", logging]),
    tests(
      "RelayIdentityTests",
      [
        "RelayIdentity", "RelayJSON", "RelayProtocol", "SeededRandom", crypto,
        .product(name: "JWTKit", package: "jwt-kit"), logging,
      ]),
    // A relay with its own store, which tests call without a socket.
    .target(
      name: "TestRelay",
      dependencies: relay + [logging], path: "Tests/TestRelay", swiftSettings: swift),
    tests(
      "RelayCommandsTests",
      relay + ["SeededRandom", "TestRelay", .product(name: "GRDB", package: "GRDB.swift"), logging]),
    tests(
      "RelayHTTPTests",
      relay + [
        "PushLint", "RelayCluster", "RelayHTTP", "SeededRandom", "TestRelay",
        .product(name: "HTTPTypes", package: "swift-http-types"), logging,
      ]),
    tests(
      "RelayServerTests",
      relay + [
        "RelayCluster", "RelayNATS", "RelayServer", "SeededRandom",
        .product(name: "Configuration", package: "swift-configuration"), logging,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"), crypto,
      ]),
    tests(
      "StillwireTests",
      ["RelayServer", "stillwire", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
    tests(
      "RelaySimulationTests",
      relay + ["RelayHTTP", "RelayServer", "SeededRandom", .product(name: "GRDB", package: "GRDB.swift"), logging]),
    tests(
      "RelayStoreTests",
      [
        "CRows", "RelayDelivery", "RelayJSON", "RelayProtocol", "RelayStore", "SeededRandom",
        .product(name: "GRDB", package: "GRDB.swift"),
      ]),
    tests(
      "RelayDeliveryTests",
      [
        "ChildProcess", "PushLint", "RelayDelivery", "RelayJSON", "RelayProtocol", "SeededRandom", "StillwireExtension",
      ], exclude: ["mutate.py"]),
    tests(
      "RelayGatewaysTests",
      [
        "AppleSimulator", "RelayDelivery", "RelayGateways", "RelayJSON", "RelayProtocol", crypto, logging,
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"), .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "SwiftASN1", package: "swift-asn1"), .product(name: "X509", package: "swift-certificates"),
      ]),
  ],
  cLanguageStandard: .c11,
  cxxLanguageStandard: .cxx17
)

// Targets of the server use other packages only with the trait, so that an app without it does not resolve them.
let clients: Set = [
  "RelayJSON", "RelayProtocol", "StillwireApple", "StillwireClient", "StillwireExtension", "StillwireUI",
]
for target in package.targets where !clients.contains(target.name) {
  target.dependencies = target.dependencies.map { dependency in
    guard case .productItem(let name, let package?, nil, nil) = dependency else { return dependency }
    return .product(name: name, package: package, condition: .when(traits: ["Server"]))
  }
}
