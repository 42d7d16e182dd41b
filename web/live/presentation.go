package live

import (
	"errors"
	"strings"

	"mayfly/web/presentation"
)

// A presenter's browser sends its page in the command "present", with the key of the presentation. A
// follower's browser sends the command "follow", with the presentation's id. Both get the
// presentation's state in frames of type "talk", also while their pages are paused. If it changes
// faster than frames are sent, they get only the latest state.

// errPresentingDenied is the error for clients that may not present.
var errPresentingDenied = errors.New("a viewer cannot present")

// maxID is the most bytes of a presentation's id that is looked up. Valid ids are shorter.
const maxID = 64

// present makes the client the presenter, and records its page. If that page cannot be followed, such
// as a form, followers stay where they are.
func (h *Hub) present(c *client, cmd command) {
	if err := h.becomePresenter(c, cmd); err != nil {
		h.mu.Lock()
		c.sendControl(control{T: "talk", Text: err.Error()})
		h.mu.Unlock()
		return
	}
	page, err := h.opts.Followable(cmd.Page)
	if err != nil {
		c.participant.MoveAway()
	} else {
		at := presentation.Location{Page: page}
		if beside, err := h.opts.Followable(cmd.Beside); err == nil {
			at.SidePanel = beside
		}
		c.participant.MoveTo(at)
	}
	h.presentationChanged(c)
}

// becomePresenter makes the client the presenter of the presentation with the key cmd.Topic, unless it
// is already. The error is presentation.ErrKey, presentation.ErrFull or errPresentingDenied.
func (h *Hub) becomePresenter(c *client, cmd command) error {
	id, err := presentation.ID(cmd.Topic)
	switch {
	case err != nil:
		return err
	case h.opts.Presentations == nil || c.presentingDenied:
		return errPresentingDenied
	case c.presents == id:
		return nil
	}
	h.leave(c)
	participant, err := h.opts.Presentations.Present(cmd.Topic, cmd.Name, func() { h.presentationChanged(c) })
	if err != nil {
		return err
	}
	h.join(c, participant)
	c.presents = id
	return nil
}

// followPresentation makes the client follow a presentation.
func (h *Hub) followPresentation(c *client, id string) {
	h.leave(c)
	if h.opts.Presentations == nil || len(id) > maxID {
		return // no presentation has that id
	}
	h.join(c, h.opts.Presentations.Follow(id, func() { h.presentationChanged(c) }))
	h.presentationChanged(c)
}

// join makes the client a participant of a presentation, and leave removes it. Only the goroutine that
// reads the client's commands calls them.
func (h *Hub) join(c *client, s *presentation.Participant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.participant = s
}

func (h *Hub) leave(c *client) {
	if c.participant == nil {
		return
	}
	c.participant.Leave() // it may notify others, and so is not called under mu
	c.presents = ""
	h.join(c, nil)
}

// presentationChanged schedules the presentation's state for the client.
func (h *Hub) presentationChanged(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.presentationDue = true
	c.wakeWriter()
}

// visibleState returns the presentation's state as the client may see it: without a page of a
// namespace that the client may not see.
func (h *Hub) visibleState(c *client, is presentation.State) presentation.State {
	if is.Page != "" && !h.maySee(c, is.Page) || is.SidePanel != "" && !h.maySee(c, is.SidePanel) {
		is.Location, is.Elsewhere = presentation.Location{}, true
	}
	return is
}

// maySee reports whether a client may see a page, by its address without the base path.
func (h *Hub) maySee(c *client, page string) bool {
	name := presentation.Namespace(page)
	return c.caller.Namespace == "" || strings.EqualFold(name, c.caller.Namespace) || h.opts.SceneVisible(c.caller, name)
}
