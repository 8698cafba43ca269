--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    at bigint NOT NULL,
    modified_by character varying COLLATE pg_catalog."C",
    operation character varying NOT NULL COLLATE pg_catalog."C",
    transaction_id character varying NOT NULL COLLATE pg_catalog."C",
    before character varying NOT NULL COLLATE pg_catalog."C",
    after character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: audit_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.audit_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: audit_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.audit_pk_seq OWNED BY public.audit.pk;


--
-- Name: cash_days; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.cash_days (
    ledger_pk bigint NOT NULL,
    day bigint NOT NULL,
    high bigint NOT NULL,
    low bigint NOT NULL
);


--
-- Name: clients; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clients (
    client_id character varying NOT NULL,
    instance_pk bigint NOT NULL,
    secret_hash bytea NOT NULL,
    label character varying NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
);


--
-- Name: instances; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.instances (
    pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    name character varying NOT NULL COLLATE pg_catalog."C",
    tier integer NOT NULL,
    scale integer NOT NULL,
    "localtime" character varying NOT NULL COLLATE pg_catalog."C",
    entries_start date,
    created_at bigint NOT NULL
);


--
-- Name: instances_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.instances_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: instances_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.instances_pk_seq OWNED BY public.instances.pk;


--
-- Name: journal_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.journal_entries (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    datetime bigint NOT NULL,
    description character varying NOT NULL COLLATE pg_catalog."C",
    cash_ledger_pk bigint
);


--
-- Name: journal_entries_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.journal_entries_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: journal_entries_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.journal_entries_pk_seq OWNED BY public.journal_entries.pk;


--
-- Name: ledgers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ledgers (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    name character varying NOT NULL COLLATE pg_catalog."C",
    debit_credit character varying NOT NULL COLLATE pg_catalog."C",
    editable boolean NOT NULL,
    financial_account_type character varying COLLATE pg_catalog."C",
    is_required boolean NOT NULL,
    parent_pk bigint,
    report_cash_flow boolean NOT NULL,
    sort_code character varying NOT NULL COLLATE pg_catalog."C",
    sub_type character varying NOT NULL COLLATE pg_catalog."C",
    type character varying NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: ledgers_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.ledgers_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: ledgers_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.ledgers_pk_seq OWNED BY public.ledgers.pk;


--
-- Name: line_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.line_entries (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    journal_entry_pk bigint NOT NULL,
    ledger_pk bigint NOT NULL,
    datetime bigint NOT NULL,
    debit_credit character varying NOT NULL COLLATE pg_catalog."C",
    high bigint NOT NULL,
    low bigint NOT NULL,
    description character varying NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT parts_are_bounded CHECK (((abs(high) < '10000000000'::bigint) AND (abs(low) < '10000000000'::bigint))),
    CONSTRAINT sign_follows_side CHECK (((((debit_credit)::text = 'debit'::text) AND (high >= 0) AND (low >= 0)) OR (((debit_credit)::text = 'credit'::text) AND (high <= 0) AND (low <= 0))))
);


--
-- Name: line_entries_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.line_entries_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: line_entries_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.line_entries_pk_seq OWNED BY public.line_entries.pk;


--
-- Name: line_entry_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.line_entry_tags (
    line_entry_pk bigint NOT NULL,
    tag_pk bigint NOT NULL
);


--
-- Name: settings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.settings (
    name character varying NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL
);


--
-- Name: tag_groups; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tag_groups (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    name character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: tag_groups_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.tag_groups_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: tag_groups_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.tag_groups_pk_seq OWNED BY public.tag_groups.pk;


--
-- Name: tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tags (
    pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    tag_group_pk bigint NOT NULL,
    name character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: tags_pk_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.tags_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: tags_pk_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.tags_pk_seq OWNED BY public.tags.pk;


--
-- Name: tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tokens (
    key character varying NOT NULL COLLATE pg_catalog."C",
    instance_pk bigint NOT NULL,
    client_id character varying,
    secret_hash bytea NOT NULL,
    label character varying NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);


--
-- Name: transactions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.transactions (
    line_entry_pk bigint NOT NULL,
    instance_pk bigint NOT NULL,
    id character varying NOT NULL COLLATE pg_catalog."C",
    description character varying NOT NULL COLLATE pg_catalog."C",
    personal boolean NOT NULL,
    posted_status character varying NOT NULL COLLATE pg_catalog."C",
    review_status character varying NOT NULL COLLATE pg_catalog."C",
    source_account_id character varying COLLATE pg_catalog."C",
    categorization_method character varying NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: audit pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit ALTER COLUMN pk SET DEFAULT nextval('public.audit_pk_seq'::regclass);


--
-- Name: instances pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.instances ALTER COLUMN pk SET DEFAULT nextval('public.instances_pk_seq'::regclass);


--
-- Name: journal_entries pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries ALTER COLUMN pk SET DEFAULT nextval('public.journal_entries_pk_seq'::regclass);


--
-- Name: ledgers pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers ALTER COLUMN pk SET DEFAULT nextval('public.ledgers_pk_seq'::regclass);


--
-- Name: line_entries pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries ALTER COLUMN pk SET DEFAULT nextval('public.line_entries_pk_seq'::regclass);


--
-- Name: tag_groups pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups ALTER COLUMN pk SET DEFAULT nextval('public.tag_groups_pk_seq'::regclass);


--
-- Name: tags pk; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags ALTER COLUMN pk SET DEFAULT nextval('public.tags_pk_seq'::regclass);


--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.audit VALUES (1, 1, 1795335798417754, 'anna', 'recategorize_transaction', 'T3', '{"lin_4dac1889c6139837712086a6":"food"}', '{"lin_4dac1889c6139837712086a6":"rent"}');


--
-- Data for Name: cash_days; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.cash_days VALUES (5, 20091, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20122, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20150, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20181, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20211, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20242, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20272, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20303, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20334, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20364, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20395, 0, -1234567);
INSERT INTO public.cash_days VALUES (5, 20425, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20091, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20122, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20150, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20181, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20211, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20242, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20272, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20303, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20334, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20364, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20395, 0, -1234567);
INSERT INTO public.cash_days VALUES (12, 20425, 0, -1234567);


--
-- Data for Name: clients; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.clients VALUES ('client_690e63e55303dfb9', 1, '\x615ea72990f1c2f89bd8061e3b0338cb5bcf402ff160246400b9367cee19ee5d', 'client', 1795335797725900, NULL);


--
-- Data for Name: instances; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.instances VALUES (1, 'books', 'books', 3, 2, 'America/New_York', '2024-01-01', 1795335797119990);
INSERT INTO public.instances VALUES (2, 'others', 'books', 3, 2, 'America/New_York', '2024-01-01', 1795335797473971);


--
-- Data for Name: journal_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.journal_entries VALUES (1, 1, 'ent_5405bd3f8356e6a3411618de', 1735905600000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (2, 1, 'ent_5405bd3f8356e6a3411618df', 1738584000000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (3, 1, 'ent_5405bd3f8356e6a3411618e0', 1741003200000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (4, 1, 'ent_5405bd3f8356e6a3411618e1', 1743681600000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (5, 1, 'ent_5405bd3f8356e6a3411618e2', 1746273600000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (6, 1, 'ent_5405bd3f8356e6a3411618e3', 1748952000000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (7, 1, 'ent_5405bd3f8356e6a3411618e4', 1751544000000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (8, 1, 'ent_5405bd3f8356e6a3411618e5', 1754222400000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (9, 1, 'ent_5405bd3f8356e6a3411618e6', 1756900800000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (10, 1, 'ent_5405bd3f8356e6a3411618e7', 1759492800000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (11, 1, 'ent_5405bd3f8356e6a3411618e8', 1762171200000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (12, 1, 'ent_5405bd3f8356e6a3411618e9', 1764763200000000, 'Groceries', 5);
INSERT INTO public.journal_entries VALUES (13, 2, 'ent_58e9b30067d119524d671045', 1735905600000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (14, 2, 'ent_58e9b30067d119524d671046', 1738584000000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (15, 2, 'ent_58e9b30067d119524d671047', 1741003200000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (16, 2, 'ent_58e9b30067d119524d671048', 1743681600000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (17, 2, 'ent_58e9b30067d119524d671049', 1746273600000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (18, 2, 'ent_58e9b30067d119524d67104a', 1748952000000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (19, 2, 'ent_58e9b30067d119524d67104b', 1751544000000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (20, 2, 'ent_58e9b30067d119524d67104c', 1754222400000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (21, 2, 'ent_58e9b30067d119524d67104d', 1756900800000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (22, 2, 'ent_58e9b30067d119524d67104e', 1759492800000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (23, 2, 'ent_58e9b30067d119524d67104f', 1762171200000000, 'Groceries', 12);
INSERT INTO public.journal_entries VALUES (24, 2, 'ent_58e9b30067d119524d671050', 1764763200000000, 'Groceries', 12);


--
-- Data for Name: ledgers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.ledgers VALUES (1, 1, 'led_53443bc219cb8566f2c65535', 'Transfers Between Accounts', 'debit', true, NULL, true, NULL, false, '10001', 'transfers_between_accounts', 'asset', 1795335797165859);
INSERT INTO public.ledgers VALUES (2, 1, 'led_c37a94e93d060d9f641d0200', 'Uncategorized Cash Inflow', 'credit', true, NULL, true, NULL, false, '10002', 'uncategorized_assets', 'asset', 1795335797177162);
INSERT INTO public.ledgers VALUES (3, 1, 'led_cb7ef1dbab7c1e28da50a990', 'Uncategorized Cash Outflow', 'debit', true, NULL, true, NULL, false, '10003', 'uncategorized_assets', 'asset', 1795335797179566);
INSERT INTO public.ledgers VALUES (4, 1, 'led_15698d51c69333bfaba2a845', 'Opening Balance Retained Earnings', 'credit', true, NULL, true, NULL, false, '30001', 'equity', 'equity', 1795335797189023);
INSERT INTO public.ledgers VALUES (5, 1, 'bank', 'Bank', 'debit', true, 'bank_account', false, NULL, true, '10010', 'current_assets', 'asset', 1795335797221319);
INSERT INTO public.ledgers VALUES (6, 1, 'food', 'Food', 'debit', true, NULL, false, NULL, false, '5food', 'operating_expenses', 'expense', 1795335797262873);
INSERT INTO public.ledgers VALUES (7, 1, 'rent', 'Rent', 'debit', true, NULL, false, NULL, false, '5rent', 'operating_expenses', 'expense', 1795335797298315);
INSERT INTO public.ledgers VALUES (8, 2, 'led_8373a97466f96ebc0975b924', 'Transfers Between Accounts', 'debit', true, NULL, true, NULL, false, '10001', 'transfers_between_accounts', 'asset', 1795335797498144);
INSERT INTO public.ledgers VALUES (9, 2, 'led_e37e04c4da4a9c497a19d4aa', 'Uncategorized Cash Inflow', 'credit', true, NULL, true, NULL, false, '10002', 'uncategorized_assets', 'asset', 1795335797501306);
INSERT INTO public.ledgers VALUES (10, 2, 'led_fc7f35a38738c36bbe0ebdc9', 'Uncategorized Cash Outflow', 'debit', true, NULL, true, NULL, false, '10003', 'uncategorized_assets', 'asset', 1795335797509431);
INSERT INTO public.ledgers VALUES (11, 2, 'led_ac377cf4d96509d4f78d3d64', 'Opening Balance Retained Earnings', 'credit', true, NULL, true, NULL, false, '30001', 'equity', 'equity', 1795335797512922);
INSERT INTO public.ledgers VALUES (12, 2, 'bank', 'Bank', 'debit', true, 'bank_account', false, NULL, true, '10010', 'current_assets', 'asset', 1795335797537303);
INSERT INTO public.ledgers VALUES (13, 2, 'food', 'Food', 'debit', true, NULL, false, NULL, false, '5food', 'operating_expenses', 'expense', 1795335797561343);
INSERT INTO public.ledgers VALUES (14, 2, 'rent', 'Rent', 'debit', true, NULL, false, NULL, false, '5rent', 'operating_expenses', 'expense', 1795335797592013);


--
-- Data for Name: line_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.line_entries VALUES (1, 1, 'lin_4dac1889c6139837712086a1', 1, 5, 1735905600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (2, 1, 'lin_4dac1889c6139837712086a2', 1, 6, 1735905600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (3, 1, 'lin_4dac1889c6139837712086a3', 2, 5, 1738584000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (4, 1, 'lin_4dac1889c6139837712086a4', 2, 6, 1738584000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (5, 1, 'lin_4dac1889c6139837712086a5', 3, 5, 1741003200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (7, 1, 'lin_4dac1889c6139837712086a7', 4, 5, 1743681600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (8, 1, 'lin_4dac1889c6139837712086a8', 4, 6, 1743681600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (9, 1, 'lin_4dac1889c6139837712086a9', 5, 5, 1746273600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (10, 1, 'lin_4dac1889c6139837712086aa', 5, 6, 1746273600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (11, 1, 'lin_4dac1889c6139837712086ab', 6, 5, 1748952000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (12, 1, 'lin_4dac1889c6139837712086ac', 6, 6, 1748952000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (13, 1, 'lin_4dac1889c6139837712086ad', 7, 5, 1751544000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (14, 1, 'lin_4dac1889c6139837712086ae', 7, 6, 1751544000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (15, 1, 'lin_4dac1889c6139837712086af', 8, 5, 1754222400000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (16, 1, 'lin_4dac1889c6139837712086b0', 8, 6, 1754222400000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (17, 1, 'lin_4dac1889c6139837712086b1', 9, 5, 1756900800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (18, 1, 'lin_4dac1889c6139837712086b2', 9, 6, 1756900800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (19, 1, 'lin_4dac1889c6139837712086b3', 10, 5, 1759492800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (20, 1, 'lin_4dac1889c6139837712086b4', 10, 6, 1759492800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (21, 1, 'lin_4dac1889c6139837712086b5', 11, 5, 1762171200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (22, 1, 'lin_4dac1889c6139837712086b6', 11, 6, 1762171200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (23, 1, 'lin_4dac1889c6139837712086b7', 12, 5, 1764763200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (24, 1, 'lin_4dac1889c6139837712086b8', 12, 6, 1764763200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (25, 2, 'lin_69d5e4633edc6fa889be77ce', 13, 12, 1735905600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (26, 2, 'lin_69d5e4633edc6fa889be77cf', 13, 13, 1735905600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (27, 2, 'lin_69d5e4633edc6fa889be77d0', 14, 12, 1738584000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (28, 2, 'lin_69d5e4633edc6fa889be77d1', 14, 13, 1738584000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (29, 2, 'lin_69d5e4633edc6fa889be77d2', 15, 12, 1741003200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (30, 2, 'lin_69d5e4633edc6fa889be77d3', 15, 13, 1741003200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (31, 2, 'lin_69d5e4633edc6fa889be77d4', 16, 12, 1743681600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (32, 2, 'lin_69d5e4633edc6fa889be77d5', 16, 13, 1743681600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (33, 2, 'lin_69d5e4633edc6fa889be77d6', 17, 12, 1746273600000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (34, 2, 'lin_69d5e4633edc6fa889be77d7', 17, 13, 1746273600000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (35, 2, 'lin_69d5e4633edc6fa889be77d8', 18, 12, 1748952000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (36, 2, 'lin_69d5e4633edc6fa889be77d9', 18, 13, 1748952000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (37, 2, 'lin_69d5e4633edc6fa889be77da', 19, 12, 1751544000000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (38, 2, 'lin_69d5e4633edc6fa889be77db', 19, 13, 1751544000000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (39, 2, 'lin_69d5e4633edc6fa889be77dc', 20, 12, 1754222400000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (40, 2, 'lin_69d5e4633edc6fa889be77dd', 20, 13, 1754222400000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (41, 2, 'lin_69d5e4633edc6fa889be77de', 21, 12, 1756900800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (42, 2, 'lin_69d5e4633edc6fa889be77df', 21, 13, 1756900800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (43, 2, 'lin_69d5e4633edc6fa889be77e0', 22, 12, 1759492800000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (44, 2, 'lin_69d5e4633edc6fa889be77e1', 22, 13, 1759492800000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (45, 2, 'lin_69d5e4633edc6fa889be77e2', 23, 12, 1762171200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (46, 2, 'lin_69d5e4633edc6fa889be77e3', 23, 13, 1762171200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (47, 2, 'lin_69d5e4633edc6fa889be77e4', 24, 12, 1764763200000000, 'credit', 0, -1234567, '');
INSERT INTO public.line_entries VALUES (48, 2, 'lin_69d5e4633edc6fa889be77e5', 24, 13, 1764763200000000, 'debit', 0, 1234567, 'weekly');
INSERT INTO public.line_entries VALUES (6, 1, 'lin_4dac1889c6139837712086a6', 3, 7, 1741003200000000, 'debit', 0, 1234567, 'weekly');


--
-- Data for Name: line_entry_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.line_entry_tags VALUES (1, 1);
INSERT INTO public.line_entry_tags VALUES (3, 1);
INSERT INTO public.line_entry_tags VALUES (5, 1);
INSERT INTO public.line_entry_tags VALUES (7, 1);
INSERT INTO public.line_entry_tags VALUES (9, 1);
INSERT INTO public.line_entry_tags VALUES (11, 1);
INSERT INTO public.line_entry_tags VALUES (13, 1);
INSERT INTO public.line_entry_tags VALUES (15, 1);
INSERT INTO public.line_entry_tags VALUES (17, 1);
INSERT INTO public.line_entry_tags VALUES (19, 1);
INSERT INTO public.line_entry_tags VALUES (21, 1);
INSERT INTO public.line_entry_tags VALUES (23, 1);
INSERT INTO public.line_entry_tags VALUES (25, 2);
INSERT INTO public.line_entry_tags VALUES (27, 2);
INSERT INTO public.line_entry_tags VALUES (29, 2);
INSERT INTO public.line_entry_tags VALUES (31, 2);
INSERT INTO public.line_entry_tags VALUES (33, 2);
INSERT INTO public.line_entry_tags VALUES (35, 2);
INSERT INTO public.line_entry_tags VALUES (37, 2);
INSERT INTO public.line_entry_tags VALUES (39, 2);
INSERT INTO public.line_entry_tags VALUES (41, 2);
INSERT INTO public.line_entry_tags VALUES (43, 2);
INSERT INTO public.line_entry_tags VALUES (45, 2);
INSERT INTO public.line_entry_tags VALUES (47, 2);


--
-- Data for Name: settings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.settings VALUES ('schema_version', '\x33');
INSERT INTO public.settings VALUES ('page_token_key', '\x5c430c85328b76b74f16f56b9dacbf50c3e452f922c1b612a2ebda2d8adf7438');


--
-- Data for Name: tag_groups; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tag_groups VALUES (1, 1, 'tgr_f0dfe88fca2f291c3c8b8d3b', 'class');
INSERT INTO public.tag_groups VALUES (2, 2, 'tgr_a1ab5887f6fd30c52c2acf46', 'class');


--
-- Data for Name: tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tags VALUES (1, 1, 'tag_aab164a288fae0b4f45fc5f8', 1, 'one');
INSERT INTO public.tags VALUES (2, 2, 'tag_7800a18f394b78c9d4614ae8', 2, 'one');


--
-- Data for Name: tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tokens VALUES ('1bd14b58aad954fa', 1, NULL, '\x182a472f946feb43dc11500edf0ba0e410bf2f335cd906df13fa190dc6260871', 'nightly', 1795335797694726, NULL, NULL);


--
-- Data for Name: transactions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.transactions VALUES (1, 1, 'T1', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (3, 1, 'T2', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (7, 1, 'T4', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (9, 1, 'T5', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (11, 1, 'T6', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (13, 1, 'T7', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (15, 1, 'T8', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (17, 1, 'T9', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (19, 1, 'T10', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (21, 1, 'T11', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (23, 1, 'T12', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (25, 2, 'T1', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (27, 2, 'T2', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (29, 2, 'T3', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (31, 2, 'T4', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (33, 2, 'T5', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (35, 2, 'T6', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (37, 2, 'T7', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (39, 2, 'T8', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (41, 2, 'T9', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (43, 2, 'T10', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (45, 2, 'T11', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'as_posted');
INSERT INTO public.transactions VALUES (47, 2, 'T12', 'Grüne Straße', false, 'posted', 'unreviewed', NULL, 'as_posted');
INSERT INTO public.transactions VALUES (5, 1, 'T3', 'Grüne Straße', false, 'posted', 'unreviewed', 'A1', 'user');


--
-- Name: audit_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_pk_seq', 1, true);


--
-- Name: instances_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.instances_pk_seq', 2, true);


--
-- Name: journal_entries_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.journal_entries_pk_seq', 1, false);


--
-- Name: ledgers_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.ledgers_pk_seq', 14, true);


--
-- Name: line_entries_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.line_entries_pk_seq', 1, false);


--
-- Name: tag_groups_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tag_groups_pk_seq', 2, true);


--
-- Name: tags_pk_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tags_pk_seq', 2, true);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (pk);


--
-- Name: cash_days cash_days_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cash_days
    ADD CONSTRAINT cash_days_pkey PRIMARY KEY (ledger_pk, day);


--
-- Name: clients clients_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (client_id);


--
-- Name: instances instances_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_id_key UNIQUE (id);


--
-- Name: instances instances_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (pk);


--
-- Name: journal_entries journal_entries_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: journal_entries journal_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_pkey PRIMARY KEY (pk);


--
-- Name: ledgers ledgers_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: ledgers ledgers_instance_pk_pk_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_pk_key UNIQUE (instance_pk, pk);


--
-- Name: ledgers ledgers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_pkey PRIMARY KEY (pk);


--
-- Name: line_entries line_entries_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: line_entries line_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_pkey PRIMARY KEY (pk);


--
-- Name: line_entry_tags line_entry_tags_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entry_tags
    ADD CONSTRAINT line_entry_tags_pkey PRIMARY KEY (line_entry_pk, tag_pk);


--
-- Name: settings settings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);


--
-- Name: tag_groups tag_groups_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: tag_groups tag_groups_instance_pk_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_instance_pk_name_key UNIQUE (instance_pk, name);


--
-- Name: tag_groups tag_groups_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_pkey PRIMARY KEY (pk);


--
-- Name: tags tags_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: tags tags_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_pkey PRIMARY KEY (pk);


--
-- Name: tags tags_tag_group_pk_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_tag_group_pk_name_key UNIQUE (tag_group_pk, name);


--
-- Name: tokens tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (key);


--
-- Name: transactions transactions_instance_pk_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_instance_pk_id_key UNIQUE (instance_pk, id);


--
-- Name: transactions transactions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (line_entry_pk);


--
-- Name: audit_of_transaction; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_of_transaction ON public.audit USING btree (instance_pk, transaction_id);


--
-- Name: ix_tokens_client_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tokens_client_id ON public.tokens USING btree (client_id);


--
-- Name: line_entries_of_journal_entry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX line_entries_of_journal_entry ON public.line_entries USING btree (journal_entry_pk);


--
-- Name: line_entries_of_ledger; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX line_entries_of_ledger ON public.line_entries USING btree (ledger_pk, datetime, id, high, low, journal_entry_pk);


--
-- Name: audit audit_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: cash_days cash_days_ledger_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cash_days
    ADD CONSTRAINT cash_days_ledger_pk_fkey FOREIGN KEY (ledger_pk) REFERENCES public.ledgers(pk);


--
-- Name: clients clients_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: journal_entries journal_entries_cash_ledger_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_cash_ledger_pk_fkey FOREIGN KEY (cash_ledger_pk) REFERENCES public.ledgers(pk);


--
-- Name: journal_entries journal_entries_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.journal_entries
    ADD CONSTRAINT journal_entries_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: ledgers ledgers_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: ledgers ledgers_instance_pk_parent_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ledgers
    ADD CONSTRAINT ledgers_instance_pk_parent_pk_fkey FOREIGN KEY (instance_pk, parent_pk) REFERENCES public.ledgers(instance_pk, pk);


--
-- Name: line_entries line_entries_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: line_entries line_entries_instance_pk_ledger_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_instance_pk_ledger_pk_fkey FOREIGN KEY (instance_pk, ledger_pk) REFERENCES public.ledgers(instance_pk, pk);


--
-- Name: line_entries line_entries_journal_entry_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entries
    ADD CONSTRAINT line_entries_journal_entry_pk_fkey FOREIGN KEY (journal_entry_pk) REFERENCES public.journal_entries(pk);


--
-- Name: line_entry_tags line_entry_tags_line_entry_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entry_tags
    ADD CONSTRAINT line_entry_tags_line_entry_pk_fkey FOREIGN KEY (line_entry_pk) REFERENCES public.line_entries(pk);


--
-- Name: line_entry_tags line_entry_tags_tag_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.line_entry_tags
    ADD CONSTRAINT line_entry_tags_tag_pk_fkey FOREIGN KEY (tag_pk) REFERENCES public.tags(pk);


--
-- Name: tag_groups tag_groups_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tag_groups
    ADD CONSTRAINT tag_groups_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: tags tags_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: tags tags_tag_group_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_tag_group_pk_fkey FOREIGN KEY (tag_group_pk) REFERENCES public.tag_groups(pk);


--
-- Name: tokens tokens_client_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.clients(client_id);


--
-- Name: tokens tokens_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: transactions transactions_instance_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_instance_pk_fkey FOREIGN KEY (instance_pk) REFERENCES public.instances(pk);


--
-- Name: transactions transactions_line_entry_pk_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_line_entry_pk_fkey FOREIGN KEY (line_entry_pk) REFERENCES public.line_entries(pk);


--
-- PostgreSQL database dump complete
--


