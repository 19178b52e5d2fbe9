-- Texts within texts. A piece of a text begins at every third character, so a text that is looked for
-- stands at the beginning of a piece, or but for its first one or two characters, which are kept ahead.
CREATE TABLE shop_product_name_pieces (
    piece  varchar(12) NOT NULL,
    record bigint NOT NULL,
    place  smallint NOT NULL,
    ahead  varchar(2) NOT NULL,
    PRIMARY KEY (piece, record, place)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
CREATE TABLE shop_product_sku_pieces (
    piece  varchar(12) NOT NULL,
    record bigint NOT NULL,
    place  smallint NOT NULL,
    ahead  varchar(2) NOT NULL,
    PRIMARY KEY (piece, record, place)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;

INSERT INTO shop_product_name_pieces
WITH RECURSIVE longest (characters) AS (SELECT max(char_length(product_name_fold)) FROM shop_products),
places (place) AS (
    SELECT 1 UNION ALL SELECT place + 3 FROM places JOIN longest ON place + 3 <= characters
)
SELECT substr(product_name_fold, place, 12), shop_product_id, place,
    IF(place = 1, '', substr(product_name_fold, place - 2, 2))
FROM places JOIN shop_products ON place <= char_length(product_name_fold)
ORDER BY 1, 2, 3;
INSERT INTO shop_product_sku_pieces
WITH RECURSIVE longest (characters) AS (SELECT max(char_length(sku_fold)) FROM shop_products),
places (place) AS (
    SELECT 1 UNION ALL SELECT place + 3 FROM places JOIN longest ON place + 3 <= characters
)
SELECT substr(sku_fold, place, 12), shop_product_id, place,
    IF(place = 1, '', substr(sku_fold, place - 2, 2))
FROM places JOIN shop_products ON place <= char_length(sku_fold)
ORDER BY 1, 2, 3;

CREATE TRIGGER shop_products_pieces_new AFTER INSERT ON shop_products FOR EACH ROW
BEGIN
    DECLARE at integer;
    SET at = 1;
    WHILE at <= char_length(NEW.product_name_fold) DO
        INSERT INTO shop_product_name_pieces VALUES (substr(NEW.product_name_fold, at, 12), NEW.shop_product_id, at,
            IF(at = 1, '', substr(NEW.product_name_fold, at - 2, 2)));
        SET at = at + 3;
    END WHILE;
    SET at = 1;
    WHILE at <= char_length(NEW.sku_fold) DO
        INSERT INTO shop_product_sku_pieces VALUES (substr(NEW.sku_fold, at, 12), NEW.shop_product_id, at,
            IF(at = 1, '', substr(NEW.sku_fold, at - 2, 2)));
        SET at = at + 3;
    END WHILE;
END;

CREATE TRIGGER shop_products_pieces_old AFTER DELETE ON shop_products FOR EACH ROW
BEGIN
    DECLARE at integer;
    SET at = 1;
    WHILE at <= char_length(OLD.product_name_fold) DO
        DELETE FROM shop_product_name_pieces
        WHERE piece = substr(OLD.product_name_fold, at, 12) AND record = OLD.shop_product_id AND place = at;
        SET at = at + 3;
    END WHILE;
    SET at = 1;
    WHILE at <= char_length(OLD.sku_fold) DO
        DELETE FROM shop_product_sku_pieces
        WHERE piece = substr(OLD.sku_fold, at, 12) AND record = OLD.shop_product_id AND place = at;
        SET at = at + 3;
    END WHILE;
END;

CREATE TRIGGER shop_products_pieces_change AFTER UPDATE ON shop_products FOR EACH ROW
BEGIN
    DECLARE at integer;
    IF OLD.product_name_fold <> NEW.product_name_fold THEN
        SET at = 1;
        WHILE at <= char_length(OLD.product_name_fold) DO
            DELETE FROM shop_product_name_pieces
            WHERE piece = substr(OLD.product_name_fold, at, 12) AND record = OLD.shop_product_id AND place = at;
            SET at = at + 3;
        END WHILE;
        SET at = 1;
        WHILE at <= char_length(NEW.product_name_fold) DO
            INSERT INTO shop_product_name_pieces VALUES (substr(NEW.product_name_fold, at, 12), NEW.shop_product_id, at,
                IF(at = 1, '', substr(NEW.product_name_fold, at - 2, 2)));
            SET at = at + 3;
        END WHILE;
    END IF;
    IF OLD.sku_fold <> NEW.sku_fold THEN
        SET at = 1;
        WHILE at <= char_length(OLD.sku_fold) DO
            DELETE FROM shop_product_sku_pieces
            WHERE piece = substr(OLD.sku_fold, at, 12) AND record = OLD.shop_product_id AND place = at;
            SET at = at + 3;
        END WHILE;
        SET at = 1;
        WHILE at <= char_length(NEW.sku_fold) DO
            INSERT INTO shop_product_sku_pieces VALUES (substr(NEW.sku_fold, at, 12), NEW.shop_product_id, at,
                IF(at = 1, '', substr(NEW.sku_fold, at - 2, 2)));
            SET at = at + 3;
        END WHILE;
    END IF;
END;
