// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's Core Graphics and Core Foundation that PictureScaler uses, as in their interfaces. It
// checks types, and never runs. Above each declaration is the page of Apple's documentation that it comes from. The types
// of CoreFoundation do not exist on Linux, so that the types of Foundation that they are bridged to replace them.
public import Foundation

// https://developer.apple.com/documentation/corefoundation/cfdata
public typealias CFData = NSData
// https://developer.apple.com/documentation/corefoundation/cfmutabledata
public typealias CFMutableData = NSMutableData
// https://developer.apple.com/documentation/corefoundation/cfstring
public typealias CFString = String
// https://developer.apple.com/documentation/corefoundation/cfdictionary
public typealias CFDictionary = NSDictionary

// https://developer.apple.com/documentation/coregraphics/cgimage
public final class CGImage {}
