package operate

import (
	"context"
	"strconv"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Damaged is the page of messages that are damaged in the store.
type Damaged struct {
	Shell   layout.Shell
	Rows    []DamagedRow
	Pages   component.Pages
	MoveAll string // address of the form that confirms moving all messages aside
}

// A DamagedRow is a damaged message.
type DamagedRow struct {
	Key    string
	Number int64           // sequence number; zero if unreadable
	Entity page.LinkTarget // an empty Name means that it is unreadable
	What   DamagedPart
	Move   string // address of the form that confirms moving the message aside
}

// A DamagedPart is the part of a message that is damaged.
type DamagedPart string

// The parts of a message.
const (
	DamagedState      DamagedPart = "record"
	DamagedProperties DamagedPart = "content"
	DamagedBody       DamagedPart = "body"
)

func (d DamagedPart) words(ctx context.Context) string {
	switch d {
	case DamagedProperties:
		return locale.T(ctx, "damaged.content")
	case DamagedBody:
		return locale.T(ctx, "damaged.body")
	default:
		return locale.T(ctx, "damaged.record")
	}
}

// called returns the message's sequence number, or its key if the number is unreadable.
func (r DamagedRow) called() string {
	if r.Number == 0 {
		return r.Key
	}
	return "#" + strconv.FormatInt(r.Number, 10)
}

// Full returns the whole page.
func (m Damaged) Full() templ.Component { return damaged(m) }

// Watches returns nil, because damage can be found in any entity.
func (m Damaged) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Damaged) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("move-all", damagedMoveAll(m)),
		page.List("rows", m.Rows, func(r DamagedRow) view.Row { return view.Row{Key: r.Key, Content: damagedRow(r)} }),
		page.Slot("empty", damagedEmpty(m)),
		page.Slot("pages", page.Pager(m.Pages)),
	)
}

var damagedColumns = []page.Heading{
	{Name: "damaged.at", Class: "name"},
	{Name: "damaged.number", Class: "num"},
	{Name: "damaged.what", Class: ""},
	{Name: "damaged.key", Class: ""},
	{Name: "damaged.do", Class: "keys"},
}

// ConfirmMoveAside asks to confirm moving damaged messages aside. It is not live.
type ConfirmMoveAside struct {
	Shell   layout.Shell
	To      string // the address it posts to
	Cancel  string
	One     DamagedRow // the message; an empty Key means all of them
	N       int        // number of messages; sent along and checked again
	Type    string     // text to type as confirmation; empty means none
	Typed   string
	Error   component.Text
	Refused component.Notice
}

func (m ConfirmMoveAside) title(ctx context.Context) string {
	if m.One.Key != "" {
		return locale.T(ctx, "damaged.ask.one", locale.Args{"Message": m.One.called()})
	}
	return locale.N(ctx, "damaged.ask.all", m.N)
}

// Full returns the whole page.
func (m ConfirmMoveAside) Full() templ.Component { return confirmMoveAside(m) }

// Dialog returns the form of the page.
func (m ConfirmMoveAside) Dialog() templ.Component { return confirmMoveAsideForm(m) }

// Watches returns nil, because the page is not live.
func (m ConfirmMoveAside) Watches() []string { return nil }

// Parts returns the shell's parts: the confirmation form is not live.
func (m ConfirmMoveAside) Parts() []view.Part { return m.Shell.Parts() }
