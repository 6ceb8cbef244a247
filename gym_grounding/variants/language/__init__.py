"""What sentences say: words of the scenes, a parser that knows no others, and comparison of what was parsed."""
