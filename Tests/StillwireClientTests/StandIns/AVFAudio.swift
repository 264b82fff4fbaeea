// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's AVFAudio that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
public import Foundation

// https://developer.apple.com/documentation/avfaudio/avaudiosession
@available(iOS 3, tvOS 9, visionOS 1, watchOS 2, *)
@available(macOS, unavailable)
open class AVAudioSession: NSObject {}
