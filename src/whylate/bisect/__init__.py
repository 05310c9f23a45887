"""Which of many differences makes the difference?"""
