package wire

import "fmt"

// A Code is the numeric descriptor of a described type (AMQP 1.0, part 1,
// 1.2.1).
type Code uint64

// Performatives, states and termini (part 2, 2.7 and 2.8; part 3, 3.4 and 3.5),
// transactions (part 4, 4.5), SASL (part 5, 5.3.3).
const (
	CodeOpen        Code = 0x10
	CodeBegin       Code = 0x11
	CodeAttach      Code = 0x12
	CodeFlow        Code = 0x13
	CodeTransfer    Code = 0x14
	CodeDisposition Code = 0x15
	CodeDetach      Code = 0x16
	CodeEnd         Code = 0x17
	CodeClose       Code = 0x18

	CodeError    Code = 0x1d
	CodeReceived Code = 0x23
	CodeAccepted Code = 0x24
	CodeRejected Code = 0x25
	CodeReleased Code = 0x26
	CodeModified Code = 0x27
	CodeSource   Code = 0x28
	CodeTarget   Code = 0x29

	CodeDeleteOnClose             Code = 0x2b
	CodeDeleteOnNoLinks           Code = 0x2c
	CodeDeleteOnNoMessages        Code = 0x2d
	CodeDeleteOnNoLinksOrMessages Code = 0x2e

	CodeCoordinator   Code = 0x30
	CodeDeclare       Code = 0x31
	CodeDischarge     Code = 0x32
	CodeDeclared      Code = 0x33
	CodeTransactional Code = 0x34

	CodeMechanisms Code = 0x40
	CodeInit       Code = 0x41
	CodeChallenge  Code = 0x42
	CodeResponse   Code = 0x43
	CodeOutcome    Code = 0x44
)

// symbols are the symbolic descriptors, which are equivalent to the numbers.
var symbols = map[string]Code{
	"amqp:open:list":        CodeOpen,
	"amqp:begin:list":       CodeBegin,
	"amqp:attach:list":      CodeAttach,
	"amqp:flow:list":        CodeFlow,
	"amqp:transfer:list":    CodeTransfer,
	"amqp:disposition:list": CodeDisposition,
	"amqp:detach:list":      CodeDetach,
	"amqp:end:list":         CodeEnd,
	"amqp:close:list":       CodeClose,

	"amqp:error:list":    CodeError,
	"amqp:received:list": CodeReceived,
	"amqp:accepted:list": CodeAccepted,
	"amqp:rejected:list": CodeRejected,
	"amqp:released:list": CodeReleased,
	"amqp:modified:list": CodeModified,
	"amqp:source:list":   CodeSource,
	"amqp:target:list":   CodeTarget,

	"amqp:delete-on-close:list":                CodeDeleteOnClose,
	"amqp:delete-on-no-links:list":             CodeDeleteOnNoLinks,
	"amqp:delete-on-no-messages:list":          CodeDeleteOnNoMessages,
	"amqp:delete-on-no-links-or-messages:list": CodeDeleteOnNoLinksOrMessages,

	"amqp:coordinator:list":         CodeCoordinator,
	"amqp:declare:list":             CodeDeclare,
	"amqp:discharge:list":           CodeDischarge,
	"amqp:declared:list":            CodeDeclared,
	"amqp:transactional-state:list": CodeTransactional,

	"amqp:sasl-mechanisms:list": CodeMechanisms,
	"amqp:sasl-init:list":       CodeInit,
	"amqp:sasl-challenge:list":  CodeChallenge,
	"amqp:sasl-response:list":   CodeResponse,
	"amqp:sasl-outcome:list":    CodeOutcome,

	"amqp:header:list":                Code(SectionHeader),
	"amqp:delivery-annotations:map":   Code(SectionDeliveryAnnotations),
	"amqp:message-annotations:map":    Code(SectionMessageAnnotations),
	"amqp:properties:list":            Code(SectionProperties),
	"amqp:application-properties:map": Code(SectionApplicationProperties),
	"amqp:data:binary":                Code(SectionData),
	"amqp:amqp-sequence:list":         Code(SectionSequence),
	"amqp:amqp-value:*":               Code(SectionValue),
	"amqp:footer:map":                 Code(SectionFooter),
}

// String returns the symbolic descriptor, or the number of an unknown type.
func (c Code) String() string {
	for name, code := range symbols {
		if code == c {
			return name
		}
	}
	return fmt.Sprintf("%#x", uint64(c))
}

// The constructors of primitive types (part 1, 1.6).
const (
	codeDescribed = 0x00

	codeNull  = 0x40
	codeTrue  = 0x41
	codeFalse = 0x42
	codeUInt0 = 0x43
	codeLong0 = 0x44 // ulong 0
	codeList0 = 0x45

	codeUByte      = 0x50
	codeByte       = 0x51
	codeSmallUInt  = 0x52
	codeSmallULong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBool       = 0x56

	codeUShort = 0x60
	codeShort  = 0x61

	codeUInt      = 0x70
	codeInt       = 0x71
	codeFloat     = 0x72
	codeChar      = 0x73
	codeDecimal32 = 0x74

	codeULong     = 0x80
	codeLong      = 0x81
	codeDouble    = 0x82
	codeTimestamp = 0x83
	codeDecimal64 = 0x84

	codeDecimal128 = 0x94
	codeUUID       = 0x98

	codeBinary8  = 0xa0
	codeString8  = 0xa1
	codeSymbol8  = 0xa3
	codeBinary32 = 0xb0
	codeString32 = 0xb1
	codeSymbol32 = 0xb3

	codeList8   = 0xc0
	codeMap8    = 0xc1
	codeList32  = 0xd0
	codeMap32   = 0xd1
	codeArray8  = 0xe0
	codeArray32 = 0xf0
)

// layout describes how a value is encoded after its constructor: the sum of one of the classes
// below and a width in bytes. The width is the value's own for a fixed value, and that of the size
// field for the other classes.
type layout uint8

const (
	unknown  layout = 0
	fixed    layout = 0x20
	variable layout = 0x40 // strings, symbols and binaries
	compound layout = 0x60
	array    layout = 0x80
)

const widthMask layout = 0x1f

// layouts is indexed by constructor. The entry of codeDescribed is zero, because a described value
// consists of two values.
var layouts = [256]layout{
	codeNull: fixed, codeTrue: fixed, codeFalse: fixed, codeUInt0: fixed, codeLong0: fixed, codeList0: fixed,
	codeUByte: fixed + 1, codeByte: fixed + 1, codeSmallUInt: fixed + 1, codeSmallULong: fixed + 1,
	codeSmallInt: fixed + 1, codeSmallLong: fixed + 1, codeBool: fixed + 1,
	codeUShort: fixed + 2, codeShort: fixed + 2,
	codeUInt: fixed + 4, codeInt: fixed + 4, codeFloat: fixed + 4, codeChar: fixed + 4, codeDecimal32: fixed + 4,
	codeULong: fixed + 8, codeLong: fixed + 8, codeDouble: fixed + 8, codeTimestamp: fixed + 8, codeDecimal64: fixed + 8,
	codeDecimal128: fixed + 16, codeUUID: fixed + 16,
	codeBinary8: variable + 1, codeString8: variable + 1, codeSymbol8: variable + 1,
	codeBinary32: variable + 4, codeString32: variable + 4, codeSymbol32: variable + 4,
	codeList8: compound + 1, codeMap8: compound + 1, codeList32: compound + 4, codeMap32: compound + 4,
	codeArray8: array + 1, codeArray32: array + 4,
}
