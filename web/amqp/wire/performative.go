package wire

import "fmt"

// A Performative is the command in a frame: a pointer to [Open], [Begin], [Attach],
// [Flow], [Transfer], [Disposition], [Detach], [End], [Close], or in a SASL frame to
// [Mechanisms], [Init], [Challenge], [Response], [Outcome]. Each has a Decode method,
// which sets all fields from the body of a frame. After an error the fields are
// undefined.
type Performative interface {
	Code() Code
	// Decode sets all fields from an encoded performative.
	Decode(body []byte) error
	sealed()
}

// CodeOf returns the descriptor of the described value at the beginning of b, such as the
// performative of a frame or a body sent to a coordinator.
func CodeOf(b []byte) (Code, error) {
	c := newCursor(b)
	code := c.descriptor()
	return code, c.result()
}

// Decode decodes the performative of a frame's body into a new value. To avoid
// allocations, switch over [CodeOf] and call the Decode method of a reused value.
func Decode(f Frame) (Performative, error) {
	code, err := CodeOf(f.Body)
	if err != nil {
		return nil, err
	}
	p := performative(code)
	if p == nil || frameType(code) != f.Type {
		return nil, &ProtocolError{Condition: CondInvalidField, Text: fmt.Sprintf("%v is not a performative of a frame of type %d", code, f.Type)}
	}
	if err := p.Decode(f.Body); err != nil {
		return nil, err
	}
	return p, nil
}

func performative(code Code) Performative {
	switch code {
	case CodeOpen:
		return new(Open)
	case CodeBegin:
		return new(Begin)
	case CodeAttach:
		return new(Attach)
	case CodeFlow:
		return new(Flow)
	case CodeTransfer:
		return new(Transfer)
	case CodeDisposition:
		return new(Disposition)
	case CodeDetach:
		return new(Detach)
	case CodeEnd:
		return new(End)
	case CodeClose:
		return new(Close)
	case CodeMechanisms:
		return new(Mechanisms)
	case CodeInit:
		return new(Init)
	case CodeChallenge:
		return new(Challenge)
	case CodeResponse:
		return new(Response)
	case CodeOutcome:
		return new(Outcome)
	default:
		return nil
	}
}

// appendPerformative appends p and, for a Transfer, its payload. It is a switch and not a method of
// the interface, so that the performative can stay on the caller's stack.
func appendPerformative(b []byte, p Performative) []byte {
	switch p := p.(type) {
	case *Transfer:
		return append(p.append(b), p.Payload...)
	case *Disposition:
		return p.append(b)
	case *Flow:
		return p.append(b)
	case *Open:
		return p.append(b)
	case *Begin:
		return p.append(b)
	case *Attach:
		return p.append(b)
	case *Detach:
		return p.append(b)
	case *End:
		return p.append(b)
	case *Close:
		return p.append(b)
	case *Mechanisms:
		return p.append(b)
	case *Init:
		return p.append(b)
	case *Challenge:
		return p.append(b)
	case *Response:
		return p.append(b)
	case *Outcome:
		return p.append(b)
	default:
		panic("a performative of an unknown type") // formatting p would move all performatives to the heap
	}
}
