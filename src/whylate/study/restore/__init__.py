"""What a study changed on its boards and restores: images of cards, command knobs."""
